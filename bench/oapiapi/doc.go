// Package oapiapi is where go generate puts the client that oapi-codegen makes; its file is not kept.
package oapiapi

// The generated code needs this, and go.mod has to know it before there is any.
import _ "github.com/oapi-codegen/runtime"

//go:generate go tool oapi-codegen -generate types,client -package oapiapi -o client.gen.go ../../cmd/petstore-fake/openapi.yaml
