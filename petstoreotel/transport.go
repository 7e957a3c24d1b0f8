package petstoreotel

import (
	"errors"
	"net/http"
	"runtime"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/petstore/petstore-go"
)

// ScopeName is the instrumentation scope of all spans and metrics.
const ScopeName = "github.com/petstore/petstore-go/petstoreotel"

// NewTransport returns a transport that sends through base and shows what it sends, and the calls that it belongs
// to, as spans and metrics. Give it to a client by [petstore.WithHTTPClient], outermost, so that the client finds
// the [petstore.CallObserver] in it.
//
// A nil base is a transport like the one that a client has by default, with a pool of its own. The result is safe
// for concurrent use if base is, and CloseIdleConnections of an http.Client reaches base through it.
//
// NewTransport never fails: an instrument that the meter provider refuses is reported to the global error handler
// of OpenTelemetry and records nothing.
func NewTransport(base http.RoundTripper, opts ...Option) http.RoundTripper {
	if base == nil {
		base = defaultTransport()
	}
	c := newConfig(opts)
	t := &transport{
		base: base,
		tracer: c.tracers.Tracer(ScopeName,
			trace.WithInstrumentationVersion(petstore.Version), trace.WithSchemaURL(semconv.SchemaURL)),
		propagators: c.propagators,
	}
	stop := t.metrics.start(c.meters.Meter(ScopeName,
		metric.WithInstrumentationVersion(petstore.Version), metric.WithSchemaURL(semconv.SchemaURL)))
	// There is no Close, so that the meter has to let go of what nobody can use any more.
	runtime.AddCleanup(t, func(stop func()) { stop() }, stop)
	return t
}

type transport struct {
	base        http.RoundTripper
	tracer      trace.Tracer
	propagators propagation.TextMapPropagator
	metrics     metrics
}

var _ petstore.CallObserver = (*transport)(nil)

// errBroken is what a base did that panics, or returns neither an answer nor an error.
var errBroken = errors.New("not what an http.RoundTripper may do")

// RoundTrip sends one request within a span.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	a, sent := t.begin(req)
	returned := false
	defer func() {
		if !returned {
			a.end(errBroken)
		}
	}()
	resp, err := t.base.RoundTrip(sent)
	returned = true
	switch {
	case err != nil:
		a.end(err)
	case resp == nil:
		a.end(errBroken)
	default:
		a.answered(resp)
	}
	return resp, err
}

// Unwrap returns base.
func (t *transport) Unwrap() http.RoundTripper { return t.base }

// CloseIdleConnections closes those of base, if it has any.
func (t *transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// defaultTransport is what a petstore.Client has by default: with the two idle connections per host of
// http.DefaultTransport most calls of a busy client would dial, and a header may have 10 MiB.
func defaultTransport() http.RoundTripper {
	std, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // the program has put something else there, which is then what it wants
		return http.DefaultTransport
	}
	const idleConnections = 64
	t := std.Clone()
	t.MaxIdleConns = idleConnections
	t.MaxIdleConnsPerHost = idleConnections
	t.MaxResponseHeaderBytes = 1 << 20
	return t
}
