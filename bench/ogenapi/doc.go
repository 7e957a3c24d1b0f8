// Package ogenapi is where go generate puts the client that ogen makes. The files are not in the
// repository.
package ogenapi

import (
	// The generated code needs these packages, and go.mod must have them before that code exists.
	_ "github.com/go-faster/errors"
	_ "github.com/go-faster/jx"
	_ "go.opentelemetry.io/otel"
	_ "go.opentelemetry.io/otel/metric"
	_ "go.opentelemetry.io/otel/trace"
)

//go:generate go tool ogen --target . --package ogenapi ../../openapi.yaml
