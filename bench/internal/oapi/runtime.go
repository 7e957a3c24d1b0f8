// Package oapi is where the build finds the client that oapi-codegen writes. The generated file is
// laid over this folder by the go command's -overlay and never stands in it; see the folder's
// parent program.
package oapi

import (
	// The generated code needs this, and go.mod has to know it before there is any generated code.
	_ "github.com/oapi-codegen/runtime"
)
