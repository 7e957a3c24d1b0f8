package petstoreotel

import (
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel"
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

// New returns an option that records the calls of a client, their waits and their requests as
// spans and metrics:
//
//	client, err := petstore.NewClient(baseURL, apiKey, petstoreotel.New())
//
// Give the same option to all clients of a program: their instruments are then made once. The
// transport of the client, its own or that of [petstore.WithHTTPClient], stays below the one that
// records the requests.
//
// New never fails: if the meter provider refuses an instrument, New reports that to the global
// error handler of OpenTelemetry and records no metrics.
func New(opts ...Option) petstore.Option {
	c := newConfig(opts)
	i := &instrumentation{
		tracer: c.tracers.Tracer(scopeName,
			trace.WithInstrumentationVersion(petstore.Version), trace.WithSchemaURL(semconv.SchemaURL)),
		propagators: c.propagators,
		lockouts:    lockouts{until: make(map[lockout]time.Time)},
		metrics: newMetrics(c.meters.Meter(scopeName,
			metric.WithInstrumentationVersion(petstore.Version), metric.WithSchemaURL(semconv.SchemaURL))),
	}
	return petstore.Options(
		petstore.WithTrace(&petstore.ClientTrace{
			CallStart: i.callStart, CallDone: i.callDone,
			WaitStart: i.waitStart, WaitDone: i.waitDone,
			AttemptStart: i.attemptStart, AttemptDone: i.attemptDone,
			LimitClosed: i.limitClosed, LimitOpened: i.limitOpened,
		}),
		petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper { return &transport{i, base} }))
}

// instrumentation records the calls and requests of some clients.
type instrumentation struct {
	tracer      trace.Tracer
	propagators propagation.TextMapPropagator
	metrics     metrics
	lockouts    lockouts
}

// metrics are the instruments.
type metrics struct {
	requestDuration httpconv.ClientRequestDuration
	callDuration    metric.Float64Histogram
	waitTime        metric.Float64Histogram
	waitingCalls    metric.Int64UpDownCounter
	waitsGivenUp    metric.Int64Counter
	limit           metric.Int64Gauge
	remaining       metric.Int64Gauge
	closedUntil     metric.Float64Gauge
}

// newMetrics makes the instruments. If the meter refuses one, none records anything.
func newMetrics(meter metric.Meter) metrics {
	var m metrics
	var errs [8]error
	m.requestDuration, errs[0] = httpconv.NewClientRequestDuration(meter)
	m.callDuration, errs[1] = meter.Float64Histogram("petstore.client.call.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of calls, with their waits and requests."),
		// From a response out of a nearby cache to a call that waits for longer than the default.
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300))
	m.waitTime, errs[2] = meter.Float64Histogram("petstore.client.rate_limit.wait_time", metric.WithUnit("s"),
		metric.WithDescription("Time a request waited for the rate limit."),
		// From the resolution of a scheduler to the two minutes that a call waits by default.
		metric.WithExplicitBucketBoundaries(0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60, 90, 120))
	m.waitingCalls, errs[3] = meter.Int64UpDownCounter("petstore.client.rate_limit.waiting_calls",
		metric.WithUnit("{call}"), metric.WithDescription("Calls that wait for the rate limit."))
	m.waitsGivenUp, errs[4] = meter.Int64Counter("petstore.client.rate_limit.waits_given_up", metric.WithUnit("{wait}"),
		metric.WithDescription("Waits that ended with their call, or would have been too long to begin."))
	m.limit, errs[5] = meter.Int64Gauge("petstore.client.rate_limit.limit", metric.WithUnit("{request}"),
		metric.WithDescription("Requests that the window of the last response allows."))
	m.remaining, errs[6] = meter.Int64Gauge("petstore.client.rate_limit.remaining", metric.WithUnit("{request}"),
		metric.WithDescription("Requests left in the window of the last response."))
	m.closedUntil, errs[7] = meter.Float64Gauge("petstore.client.rate_limit.closed_until", metric.WithUnit("s"),
		metric.WithDescription("When the rate limit that is closed opens, as Unix time; 0 if it has opened."))
	if err := errors.Join(errs[:]...); err != nil {
		otel.Handle(err)
		return newMetrics(noop.Meter{})
	}
	return m
}
