package petstoreotel

import (
	"net/http"
	"net/url"
	"runtime"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/petstore/petstore-go"
)

// ScopeName is the instrumentation scope of all spans and metrics.
const ScopeName = "github.com/petstore/petstore-go/petstoreotel"

// AttributeOperation is the key of the attribute with the operationId of the service document.
const AttributeOperation = attribute.Key("petstore.operation")

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
// error handler of OpenTelemetry and records no durations and waits. With the no-op providers of
// OpenTelemetry New records nothing, and costs next to nothing.
func New(opts ...Option) petstore.Option {
	c := newConfig(opts)
	i := newInstrumentation(c)
	var options []petstore.Option
	if _, noop := i.meter.(metricnoop.Meter); !noop || i.tracer != nil {
		i.traced = true
		if !noop {
			i.budgets = &budgets{known: make(map[budgetKey]*budget)}
			// Options have no Close, so that the callback has to go with the last client.
			runtime.AddCleanup(i, func(stop func()) { stop() }, i.budgets.watch(i.meter))
		}
		options = append(options, petstore.WithTrace(i.clientTrace()))
	}
	if !c.callsOnly {
		options = append(options, petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper {
			return &transport{i, base}
		}))
	}
	return petstore.Options(options...)
}

// instrumentation records the calls and requests of some clients.
type instrumentation struct {
	tracer      trace.Tracer // nil: no spans
	meter       metric.Meter
	propagators propagation.TextMapPropagator
	metrics     metrics
	budgets     *budgets // nil: no gauges
	traced      bool     // clients report their calls

	mu        sync.Mutex // guards endpoints
	endpoints map[endpointKey]*endpoint
}

func newInstrumentation(c config) *instrumentation {
	i := &instrumentation{
		tracer: c.tracers.Tracer(ScopeName,
			trace.WithInstrumentationVersion(petstore.Version), trace.WithSchemaURL(semconv.SchemaURL)),
		meter: c.meters.Meter(ScopeName,
			metric.WithInstrumentationVersion(petstore.Version), metric.WithSchemaURL(semconv.SchemaURL)),
		propagators: c.propagators,
		endpoints:   make(map[endpointKey]*endpoint),
	}
	if _, noop := i.tracer.(tracenoop.Tracer); noop {
		i.tracer = nil
	}
	i.metrics = newMetrics(i.meter)
	return i
}

type endpointKey struct{ baseURL, operation string }

// endpoint has what is the same for all calls of an operation at a service.
type endpoint struct {
	server     server
	attributes []attribute.KeyValue    // of the server and the operation
	start      []trace.SpanStartOption // of the span of a call
	served     metric.MeasurementOption
	called     metric.MeasurementOption // of a call that succeeded
}

// endpoint returns the endpoint of a call.
func (i *instrumentation) endpoint(c petstore.Call) *endpoint {
	key := endpointKey{c.BaseURL, c.Operation}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.endpoints[key] == nil {
		i.endpoints[key] = newEndpoint(c)
	}
	return i.endpoints[key]
}

func newEndpoint(c petstore.Call) *endpoint {
	var s server
	if u, err := url.Parse(c.BaseURL); err == nil {
		s = serverOf(u)
	}
	attributes := append(s.attributes(), AttributeOperation.String(c.Operation))
	return &endpoint{
		server: s, attributes: attributes,
		start: []trace.SpanStartOption{
			trace.WithAttributes(attributes...),
			trace.WithAttributes(semconv.HTTPRequestMethodKey.String(c.Method), semconv.URLTemplate(c.Template)),
		},
		served: metric.WithAttributes(s.attributes()...),
		called: metric.WithAttributes(attributes...),
	}
}
