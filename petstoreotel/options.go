package petstoreotel

import (
	"cmp"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Option configures what [New] records, and where.
type Option func(*config)

type config struct {
	tracers     trace.TracerProvider
	meters      metric.MeterProvider
	propagators propagation.TextMapPropagator
}

// WithTracerProvider sets the provider of the tracer. The default, also for nil, is the global
// provider.
func WithTracerProvider(p trace.TracerProvider) Option { return func(c *config) { c.tracers = p } }

// WithMeterProvider sets the provider of the meter. The default, also for nil, is the global
// provider.
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.meters = p } }

// WithPropagators sets the propagator that writes the context of a request's span into the
// request's header. The default, also for nil, is the global one. An empty
// propagation.NewCompositeTextMapPropagator sends nothing.
func WithPropagators(p propagation.TextMapPropagator) Option {
	return func(c *config) { c.propagators = p }
}

func newConfig(opts []Option) config {
	var c config
	for _, opt := range opts {
		if opt != nil {
			opt(&c)
		}
	}
	c.tracers = cmp.Or(c.tracers, otel.GetTracerProvider())
	c.meters = cmp.Or(c.meters, otel.GetMeterProvider())
	c.propagators = cmp.Or(c.propagators, otel.GetTextMapPropagator())
	return c
}
