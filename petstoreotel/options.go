package petstoreotel

import (
	"cmp"
	"errors"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/petstore/petstore-go"
)

// scopeName is the instrumentation scope of all spans and metrics.
const scopeName = "github.com/petstore/petstore-go/petstoreotel"

// Option configures what [New] records, and where.
type Option func(*config)

type config struct {
	tracers     trace.TracerProvider
	meters      metric.MeterProvider
	propagators propagation.TextMapPropagator
	more        func(petstore.Call) []attribute.KeyValue // of WithAttributes; nil for none
}

// WithTracerProvider sets the provider of the tracer; by default, or with nil, it is the global
// one.
func WithTracerProvider(p trace.TracerProvider) Option { return func(c *config) { c.tracers = p } }

// WithMeterProvider sets the provider of the meter; by default, or with nil, it is the global one.
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.meters = p } }

// WithPropagators sets what writes the context of a request's span into its header; by default, or
// with nil, it is the global one. An empty propagation.NewCompositeTextMapPropagator sends nothing.
func WithPropagators(p propagation.TextMapPropagator) Option {
	return func(c *config) { c.propagators = p }
}

// WithAttributes adds the attributes that f returns to all spans and metrics, such as the name of
// the tenant to whom [petstore.Call].KeyID belongs, which is empty at the start of a call. f is
// called several times in a call. It must be quick and safe for concurrent use, and its attributes
// must have few values. They do not replace attributes that this package sets.
func WithAttributes(f func(petstore.Call) []attribute.KeyValue) Option {
	return func(c *config) { c.more = f }
}

// New returns an option that records the calls of a client, their waits and their requests. Give
// the same option to all clients of a program. If the meter provider refuses an instrument, New
// reports that to the global error handler of OpenTelemetry and records no metrics.
func New(opts ...Option) petstore.Option {
	i := new(instrumentation)
	for _, opt := range opts {
		if opt != nil {
			opt(&i.config)
		}
	}
	i.propagators = cmp.Or(i.propagators, otel.GetTextMapPropagator())
	i.tracer = cmp.Or(i.tracers, otel.GetTracerProvider()).Tracer(scopeName,
		trace.WithInstrumentationVersion(petstore.Version), trace.WithSchemaURL(semconv.SchemaURL))
	i.metrics = newMetrics(cmp.Or(i.meters, otel.GetMeterProvider()).Meter(scopeName,
		metric.WithInstrumentationVersion(petstore.Version), metric.WithSchemaURL(semconv.SchemaURL)))
	return petstore.Options(
		petstore.WithTrace(&petstore.ClientTrace{
			CallStart: i.callStart, CallDone: i.callDone, WaitStart: i.waitStart, WaitDone: i.waitDone,
			AttemptStart: i.attemptStart, AttemptDone: i.attemptDone, LimitClosed: i.limitClosed, LimitOpened: i.limitOpened,
		}),
		petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper { return &transport{i, base} }))
}

// metrics are the instruments.
type metrics struct {
	requestDuration, callDuration, waitTime  metric.Float64Histogram
	waitingCalls                             metric.Int64UpDownCounter
	waitsGivenUp                             metric.Int64Counter
	limit, remaining, closedUntil, processes metric.Float64Gauge
}

// newMetrics makes the instruments. If the meter refuses one, none records anything.
func newMetrics(meter metric.Meter) (m metrics) {
	const limits = "petstore.client.rate_limit."
	var errs [9]error
	gauge := func(name, unit, description string) (metric.Float64Gauge, error) {
		return meter.Float64Gauge(limits+name, metric.WithUnit(unit), metric.WithDescription(description))
	}
	request, err := httpconv.NewClientRequestDuration(meter)
	m.requestDuration, errs[0] = request.Inst(), err
	m.callDuration, errs[1] = meter.Float64Histogram("petstore.client.call.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of calls, with their waits and requests."),
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300))
	m.waitTime, errs[2] = meter.Float64Histogram(limits+"wait_time", metric.WithUnit("s"),
		metric.WithDescription("Time a request waited for the rate limit."),
		metric.WithExplicitBucketBoundaries(0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60, 90, 120))
	m.waitingCalls, errs[3] = meter.Int64UpDownCounter(limits+"waiting_calls", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that wait for the rate limit."))
	m.waitsGivenUp, errs[4] = meter.Int64Counter(limits+"waits_given_up", metric.WithUnit("{wait}"),
		metric.WithDescription("Waits that ended with their call, or would have been too long to begin."))
	m.limit, errs[5] = gauge("limit", "{request}", "Requests that the window of the last response allows.")
	m.remaining, errs[6] = gauge("remaining", "{request}", "Requests left in the window of the last response.")
	m.closedUntil, errs[7] = gauge("closed_until", "s", "When the closed limit opens, as Unix time; 0 if it has opened.")
	m.processes, errs[8] = gauge("processes", "{process}", "Processes that use the key, as told; 0 if not.")
	if err := errors.Join(errs[:]...); err != nil {
		otel.Handle(err)
		return newMetrics(noop.Meter{})
	}
	return m
}
