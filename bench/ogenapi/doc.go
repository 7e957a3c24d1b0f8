// Package ogenapi is where go generate puts the client that ogen makes; its files are not kept.
package ogenapi

import (
	// The generated code needs these, and go.mod has to know them before there is any.
	_ "github.com/go-faster/errors"
	_ "github.com/go-faster/jx"
	_ "go.opentelemetry.io/otel"
	_ "go.opentelemetry.io/otel/metric"
	_ "go.opentelemetry.io/otel/trace"
)

//go:generate go tool ogen --target . --package ogenapi ../../cmd/petstore-fake/openapi.yaml
