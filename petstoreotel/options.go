package petstoreotel

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Option configures what [New] and [NewTransport] make.
type Option func(*config)

type config struct {
	tracers     trace.TracerProvider
	meters      metric.MeterProvider
	propagators propagation.TextMapPropagator
	callsOnly   bool
}

// WithTracerProvider takes the tracer of the spans from p. The default, also for nil, is the global provider.
func WithTracerProvider(p trace.TracerProvider) Option { return func(c *config) { c.tracers = p } }

// WithMeterProvider takes the meter of the metrics from p. The default, also for nil, is the global provider.
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.meters = p } }

// WithPropagators has p write the context of a request's span into the request's header. The default, also for nil,
// is the global propagator. A propagation.NewCompositeTextMapPropagator of nothing sends nothing.
func WithPropagators(p propagation.TextMapPropagator) Option {
	return func(c *config) { c.propagators = p }
}

// WithCallsOnly has [New] leave the requests to somebody else, such as otelhttp: there are no spans of requests and no
// http.client.request.duration, and nothing is written into a header. Calls and waits are recorded as ever. It means
// nothing to [NewTransport].
func WithCallsOnly() Option { return func(c *config) { c.callsOnly = true } }

func newConfig(opts []Option) config {
	var c config
	for _, opt := range opts {
		if opt != nil {
			opt(&c)
		}
	}
	if c.tracers == nil {
		c.tracers = otel.GetTracerProvider()
	}
	if c.meters == nil {
		c.meters = otel.GetMeterProvider()
	}
	if c.propagators == nil {
		c.propagators = otel.GetTextMapPropagator()
	}
	return c
}
