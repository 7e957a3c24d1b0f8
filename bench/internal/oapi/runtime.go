// Package oapi is where the build finds the client that oapi-codegen writes. The generated file is laid over
// this folder by the go command's -overlay and never stands in it; see the folder's parent program.
package oapi

// The generated code needs its runtime, and go.mod has to know it before there is any generated code.
import _ "github.com/oapi-codegen/runtime"
