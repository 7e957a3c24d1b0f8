package petstoreotel

import (
	"net/http"
	"runtime"
	"sync"

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

// New returns the options that show the calls of a client, their waits and their requests as spans and metrics:
//
//	client, err := petstore.NewClient(baseURL, apiKey, petstoreotel.New()...)
//
// Give the same options to all clients of a program: their instruments are then made once. The transport of the client,
// its own or that of [petstore.WithHTTPClient], stays what it is below the one that records the requests.
//
// New never fails: an instrument that the meter provider refuses is reported to the global error handler of
// OpenTelemetry and records nothing. With the no-op providers of OpenTelemetry it records nothing, and costs next to
// nothing.
func New(opts ...Option) []petstore.Option {
	c := newConfig(opts)
	i := newInstrumentation(c)
	var options []petstore.Option
	if i.records() {
		i.traced = true
		i.metrics.startCalls(i.meter)
		i.watchBudgets()
		options = append(options, petstore.WithTrace(i.clientTrace()))
	}
	if !c.callsOnly {
		i.metrics.startRequests(i.meter)
		options = append(options, petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper {
			return &transport{i, base}
		}))
	}
	return options
}

// instrumentation is what the calls and requests of some clients are recorded with.
type instrumentation struct {
	tracer      trace.Tracer // nil: no spans
	meter       metric.Meter
	propagators propagation.TextMapPropagator
	metrics     metrics
	budgets     *budgets // nil: nobody asks for the rate limit
	traced      bool     // clients report their calls

	mu        sync.RWMutex // guards endpoints
	endpoints map[endpointKey]*endpoint
}

func newInstrumentation(c config) *instrumentation {
	i := &instrumentation{
		tracer: c.tracers.Tracer(ScopeName,
			trace.WithInstrumentationVersion(petstore.Version), trace.WithSchemaURL(semconv.SchemaURL)),
		meter: c.meters.Meter(ScopeName,
			metric.WithInstrumentationVersion(petstore.Version), metric.WithSchemaURL(semconv.SchemaURL)),
		propagators: c.propagators,
		metrics:     noMetrics(),
	}
	if _, noop := i.tracer.(tracenoop.Tracer); noop {
		i.tracer = nil
	}
	return i
}

// records reports whether anything is recorded at all. Of a provider that is replaced later, as the global one
// is, that is not known beforehand.
func (i *instrumentation) records() bool {
	_, noop := i.meter.(metricnoop.Meter)
	return i.tracer != nil || !noop
}

// watchBudgets has the meter ask for the rate limits whenever it collects.
func (i *instrumentation) watchBudgets() {
	if _, noop := i.meter.(metricnoop.Meter); noop {
		return
	}
	i.budgets = &budgets{}
	stop := i.budgets.watch(i.meter)
	// There is no Close, so that the meter has to let go of what nobody can use any more.
	runtime.AddCleanup(i, func(stop func()) { stop() }, stop)
}

// endpoint returns what is the same for all calls of c's operation at c's service.
func (i *instrumentation) endpoint(c petstore.Call) *endpoint {
	key := endpointKey{c.BaseURL, c.Operation}
	i.mu.RLock()
	known := i.endpoints[key]
	i.mu.RUnlock()
	if known != nil {
		return known
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.endpoints == nil {
		i.endpoints = make(map[endpointKey]*endpoint)
	}
	if i.endpoints[key] == nil {
		i.endpoints[key] = newEndpoint(c)
	}
	return i.endpoints[key]
}
