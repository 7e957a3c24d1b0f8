// Package openapi tests openapi.yaml, and the fake, the client and the conformance suite with it.
// It is a module of its own, so that validators and generators stay out of the module graph of
// those who import the client.
//
//	cd openapi && go test ./...         everything but the next
//	cd openapi && go test . -npm        the packages of npm/package.json too: a linter, the workflows, a
//	                                    client for Node, a mock server; .ci/run openapi installs them
//
// The generated clients and servers are made when the tests run, in a temporary folder, and are not
// committed. After go mod download, the tests without -npm need no network.
package openapi
