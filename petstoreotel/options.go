package petstoreotel

import (
	"cmp"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/petstore/petstore-go"
)

// Option configures what [New] records, and where.
type Option func(*recorder)

// WithTracerProvider sets the provider of the tracer; nil, the default, is the global one.
func WithTracerProvider(p trace.TracerProvider) Option { return func(r *recorder) { r.tracers = p } }

// WithMeterProvider sets the provider of the meter; nil, the default, is the global one.
func WithMeterProvider(p metric.MeterProvider) Option { return func(r *recorder) { r.meters = p } }

// WithPropagators sets the propagator that writes the context of a span into the request's header;
// nil, the default, is the global one. An empty one sends nothing: NewCompositeTextMapPropagator().
func WithPropagators(p propagation.TextMapPropagator) Option {
	return func(r *recorder) { r.propagators = p }
}

// WithAttributes adds the attributes that f returns to all spans and metrics, such as the name of
// the tenant that [petstore.Call].KeyID stands for; see [petstore.Client.KeyID]. f is called
// several times in a call. It must be quick and safe for concurrent use. Its attributes must have
// few different values, and do not replace attributes that this package sets.
func WithAttributes(f func(petstore.Call) []attribute.KeyValue) Option {
	return func(r *recorder) { r.more = f }
}

// New returns an option that records the calls of a client, their waits and their requests. It may
// stand before or after any other option. Give the same option to all clients of a program. The
// clients of [petstore.Client.ForKey] inherit it: do not pass ForKey another one, which would
// record their calls twice. New skips options that are nil.
func New(opts ...Option) petstore.Option {
	r := &recorder{}
	for _, opt := range opts {
		if opt != nil {
			opt(r)
		}
	}
	const scope = "github.com/petstore/petstore-go/petstoreotel" // of all spans and metrics
	r.propagators = cmp.Or(r.propagators, otel.GetTextMapPropagator())
	r.tracer = cmp.Or(r.tracers, otel.GetTracerProvider()).Tracer(scope,
		trace.WithInstrumentationVersion(petstore.Version), trace.WithSchemaURL(semconv.SchemaURL))
	r.metrics = newMetrics(cmp.Or(r.meters, otel.GetMeterProvider()).Meter(scope,
		metric.WithInstrumentationVersion(petstore.Version), metric.WithSchemaURL(semconv.SchemaURL)))
	return petstore.WithTrace(&petstore.ClientTrace{
		CallStart: r.callStart, CallDone: r.callDone, WaitStart: r.waitStart, WaitDone: r.waitDone,
		AttemptContext: r.attemptContext, AttemptDone: r.attemptDone,
		LimitClosed: r.limitClosed, LimitOpened: r.limitOpened,
	})
}
