// Package ogenapi is where go generate puts the client that ogen makes of openapi.yaml. The generated
// files are not kept; with them, the tag ogen has them measured, too.
package ogenapi

import (
	// The generated code needs these, and go.mod has to know them before there is any.
	_ "github.com/go-faster/errors"
	_ "github.com/go-faster/jx"
	_ "github.com/ogen-go/ogen/conv"
	_ "github.com/ogen-go/ogen/middleware"
	_ "github.com/ogen-go/ogen/ogenerrors"
	_ "github.com/ogen-go/ogen/otelogen"
	_ "github.com/ogen-go/ogen/uri"
	_ "github.com/ogen-go/ogen/validate"
	_ "go.opentelemetry.io/otel"
	_ "go.opentelemetry.io/otel/metric"
	_ "go.opentelemetry.io/otel/trace"
)

//go:generate go tool ogen --target . --package ogenapi ../../cmd/petstore-fake/openapi.yaml
