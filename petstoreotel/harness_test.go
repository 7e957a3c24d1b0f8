package petstoreotel_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	otelmetric "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

// harness is a fake of the service, a client that reaches it through the transport, and what that
// recorded.
type harness struct {
	t      *testing.T
	server *fake.Server
	client *petstore.Client
	spans  *tracetest.SpanRecorder
	reader *metric.ManualReader

	tracers trace.TracerProvider
	meters  otelmetric.MeterProvider
	opts    []petstoreotel.Option
	// options are those of client.
	options []petstore.Option
}

func newHarness(t *testing.T, opts ...fake.Option) *harness {
	t.Helper()
	s := &harness{
		t:      t,
		server: fake.NewTestServer(t, opts...),
		spans:  tracetest.NewSpanRecorder(),
		reader: metric.NewManualReader(),
	}
	s.tracers = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans))
	s.meters = metric.NewMeterProvider(metric.WithReader(s.reader))
	s.opts = []petstoreotel.Option{
		petstoreotel.WithTracerProvider(s.tracers),
		petstoreotel.WithMeterProvider(s.meters),
		petstoreotel.WithPropagators(propagation.TraceContext{}),
	}
	s.options = []petstore.Option{petstoreotel.New(s.opts...)}
	s.client = s.bareClient(s.base(), s.options...)
	return s
}

// recorded runs a test in a bubble, with a harness.
func recorded(t *testing.T, run func(t *testing.T, s *harness), opts ...fake.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { run(t, newHarness(t, opts...)) })
}

// list lists the pets, which must succeed.
func (s *harness) list(client *petstore.Client) {
	s.t.Helper()
	_, err := client.ListPets(s.t.Context(), petstore.ListPetsParams{})
	require.NoError(s.t, err)
}

// base is what is below the transport under test.
func (s *harness) base() http.RoundTripper { return s.server.HTTPClient().Transport }

// transport is a new one that records requests only.
func (s *harness) transport() http.RoundTripper {
	return petstoreotel.NewTransport(s.base(), s.opts...)
}

// newClient returns a client that is recorded, and sends through base.
func (s *harness) newClient(base http.RoundTripper, opts ...petstore.Option) *petstore.Client {
	s.t.Helper()
	return s.bareClient(base, append([]petstore.Option{petstoreotel.New(s.opts...)}, opts...)...)
}

// bareClient returns a client that is not recorded.
func (s *harness) bareClient(base http.RoundTripper, opts ...petstore.Option) *petstore.Client {
	s.t.Helper()
	opts = append([]petstore.Option{petstore.WithHTTPClient(&http.Client{Transport: base})}, opts...)
	client, err := petstore.NewClient("https://service.test/v1", s.server.APIKey(), opts...)
	require.NoError(s.t, err)
	return client
}

// rotating returns a client that is recorded and asks f for its key.
func (s *harness) rotating(f func(context.Context) (string, error)) (*petstore.Client, error) {
	return petstore.NewClient("https://service.test/v1", "", append([]petstore.Option{petstoreotel.New(s.opts...)},
		petstore.WithHTTPClient(s.server.HTTPClient()), petstore.WithAPIKeyFunc(f))...)
}

// ended are the spans in the order in which they ended: requests before their call.
func (s *harness) ended() []sdktrace.ReadOnlySpan {
	started := len(s.spans.Started())
	require.Len(s.t, s.spans.Ended(), started, "every span has an end")
	return s.spans.Ended()
}

// metric is what the reader has of one metric, nil if nothing.
func (s *harness) metric(name string) metricdata.Aggregation {
	s.t.Helper()
	for _, m := range s.collect().Metrics {
		if m.Name == name {
			return m.Data
		}
	}
	return nil
}

func (s *harness) collect() metricdata.ScopeMetrics {
	s.t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(s.t, s.reader.Collect(context.Background(), &all))
	if len(all.ScopeMetrics) == 0 {
		return metricdata.ScopeMetrics{}
	}
	require.Len(s.t, all.ScopeMetrics, 1)
	return all.ScopeMetrics[0]
}

// durations are the data points of http.client.request.duration by their attributes.
func (s *harness) durations() map[attribute.Distinct]metricdata.HistogramDataPoint[float64] {
	s.t.Helper()
	points := make(map[attribute.Distinct]metricdata.HistogramDataPoint[float64])
	if data, ok := s.metric("http.client.request.duration").(metricdata.Histogram[float64]); ok {
		for _, p := range data.DataPoints {
			points[p.Attributes.Equivalent()] = p
		}
	}
	return points
}

func set(span sdktrace.ReadOnlySpan) attribute.Set { return attribute.NewSet(span.Attributes()...) }

// value is an attribute of a span as text, "" if it is not there.
func value(span sdktrace.ReadOnlySpan, key attribute.Key) string {
	s := set(span)
	v, _ := s.Value(key)
	return v.String()
}

func lasted(span sdktrace.ReadOnlySpan) time.Duration { return span.EndTime().Sub(span.StartTime()) }

// atService are the attributes that all requests to the service have.
func atService(more ...attribute.KeyValue) []attribute.KeyValue {
	return append([]attribute.KeyValue{
		semconv.ServerAddress("service.test"), semconv.ServerPort(443), semconv.URLScheme("https"),
	}, more...)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// The names of metrics and attributes that package petstoreotel does not export.
const (
	metricCallDuration = "petstore.client.call.duration"
	metricWaitTime     = "petstore.client.rate_limit.wait_time"
	metricWaitingCalls = "petstore.client.rate_limit.waiting_calls"
	metricWaitsGivenUp = "petstore.client.rate_limit.waits_given_up"
	metricLimit        = "petstore.client.rate_limit.limit"
	metricRemaining    = "petstore.client.rate_limit.remaining"
	metricClosedUntil  = "petstore.client.rate_limit.closed_until"

	attributeAttempts = attribute.Key("petstore.attempts")
	attributeCallID   = attribute.Key("petstore.call.id")
	attributeScope    = attribute.Key("petstore.rate_limit.scope")
)

// No test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
