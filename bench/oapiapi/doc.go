// Package oapiapi is where go generate puts the client that oapi-codegen makes. The file is not in
// the repository.
package oapiapi

// The generated code needs this package, and go.mod must have it before that code exists.
import _ "github.com/oapi-codegen/runtime"

//go:generate go tool oapi-codegen -generate types,client -package oapiapi -o client.gen.go ../../openapi.yaml
