// Package openapi tests openapi.yaml, and the fake and the client by it. It is a module of its own,
// so that validators and generators stay out of the module graph of whoever imports the client.
//
//	cd openapi && go test ./...         everything but the linter
//	cd openapi && go test . -vacuum     the linter too; it takes some minutes to build
//
// The generated clients are made when the tests run, in a temporary folder, and are not committed.
// After go mod download, here and in vacuum/, the tests need no network.
package openapi
