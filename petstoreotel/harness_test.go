package petstoreotel_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
	"github.com/petstore/petstore-go/petstoreotel"
)

// harness is a fake of the service, a client that is recorded, and what was recorded.
type harness struct {
	t      *testing.T
	server *fake.Server
	client *petstore.Client
	spans  *tracetest.SpanRecorder
	reader *metric.ManualReader
	opts   []petstoreotel.Option
}

// recorded runs a test in virtual time, with a harness.
func recorded(t *testing.T, run func(t *testing.T, s *harness), opts ...fake.Option) {
	t.Helper()
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		s := &harness{t: t, server: server, spans: tracetest.NewSpanRecorder(), reader: metric.NewManualReader()}
		s.opts = []petstoreotel.Option{
			petstoreotel.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans))),
			petstoreotel.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(s.reader))),
			petstoreotel.WithPropagators(propagation.TraceContext{}),
		}
		s.client = s.newClient()
		run(t, s)
	}, opts...)
}

// newClient returns a client that is recorded.
func (s *harness) newClient(opts ...petstore.Option) *petstore.Client {
	s.t.Helper()
	return s.bareClient(append([]petstore.Option{petstoreotel.New(s.opts...)}, opts...)...)
}

// bareClient returns a client that is not recorded.
func (s *harness) bareClient(opts ...petstore.Option) *petstore.Client {
	s.t.Helper()
	return s.clientOf("https://service.test/v1", s.server.APIKey(), opts...)
}

func (s *harness) clientOf(baseURL, key string, opts ...petstore.Option) *petstore.Client {
	s.t.Helper()
	opts = append([]petstore.Option{petstore.WithHTTPClient(s.server.HTTPClient())}, opts...)
	client, err := petstore.NewClient(baseURL, key, opts...)
	require.NoError(s.t, err)
	return client
}

// over is an option that sends the requests of a client by f.
func over(f roundTripper) petstore.Option {
	return petstore.WithHTTPClient(&http.Client{Transport: f})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// list lists the pets, which must succeed.
func (s *harness) list(client *petstore.Client) {
	s.t.Helper()
	_, err := client.ListPets(s.t.Context(), petstore.ListPetsParams{})
	require.NoError(s.t, err)
}

// ended are the spans in the order in which they ended: requests before their call.
func (s *harness) ended() []sdktrace.ReadOnlySpan {
	s.t.Helper()
	require.Len(s.t, s.spans.Ended(), len(s.spans.Started()), "every span has an end")
	return s.spans.Ended()
}

func (s *harness) collect() metricdata.ScopeMetrics {
	s.t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(s.t, s.reader.Collect(context.Background(), &all))
	require.Len(s.t, all.ScopeMetrics, 1)
	return all.ScopeMetrics[0]
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

// histogram are the data points of a histogram by their attributes.
func (s *harness) histogram(name string) map[attribute.Set]metricdata.HistogramDataPoint[float64] {
	s.t.Helper()
	points := make(map[attribute.Set]metricdata.HistogramDataPoint[float64])
	if data, ok := s.metric(name).(metricdata.Histogram[float64]); ok {
		for _, p := range data.DataPoints {
			points[p.Attributes] = p
		}
	}
	return points
}

// values are those of a gauge or a counter by their attributes.
func values(data metricdata.Aggregation) map[attribute.Set]float64 {
	switch data := data.(type) {
	case metricdata.Sum[int64]:
		return numbers(data.DataPoints)
	case metricdata.Gauge[int64]:
		return numbers(data.DataPoints)
	case metricdata.Gauge[float64]:
		return numbers(data.DataPoints)
	}
	return map[attribute.Set]float64{}
}

func numbers[N int64 | float64](points []metricdata.DataPoint[N]) map[attribute.Set]float64 {
	all := make(map[attribute.Set]float64)
	for _, p := range points {
		all[p.Attributes] = float64(p.Value)
	}
	return all
}

func set(span sdktrace.ReadOnlySpan) attribute.Set { return attribute.NewSet(span.Attributes()...) }

// value is an attribute of a span as text, "" if it is not there.
func value(span sdktrace.ReadOnlySpan, key attribute.Key) string {
	s := set(span)
	v, _ := s.Value(key)
	return v.String()
}

func without(set attribute.Set, key attribute.Key) attribute.Set {
	rest, _ := set.Filter(func(kv attribute.KeyValue) bool { return kv.Key != key })
	return rest
}

func lasted(span sdktrace.ReadOnlySpan) time.Duration { return span.EndTime().Sub(span.StartTime()) }

// atService are the attributes of the server, and more.
func atService(more ...attribute.KeyValue) attribute.Set {
	return attribute.NewSet(append(more, semconv.ServerAddress("service.test"), semconv.ServerPort(443))...)
}

// ban has the service ban the key for d, in a response that shows a window with room.
func (s *harness) ban(d time.Duration) {
	s.server.Inject(fake.Fault{Status: 429, RetryAfter: strconv.Itoa(int(d.Seconds())), Header: http.Header{
		"X-RateLimit-Limit": {"1000"}, "X-RateLimit-Remaining": {"1000"},
		"X-RateLimit-Reset": {strconv.FormatInt(time.Now().Add(time.Minute).Unix(), 10)},
	}})
}

const (
	metricRequestDuration = "http.client.request.duration"
	metricCallDuration    = "petstore.client.call.duration"
	metricWaitTime        = "petstore.client.rate_limit.wait_time"
	metricWaitingCalls    = "petstore.client.rate_limit.waiting_calls"
	metricWaitsGivenUp    = "petstore.client.rate_limit.waits_given_up"
	metricLimit           = "petstore.client.rate_limit.limit"
	metricRemaining       = "petstore.client.rate_limit.remaining"
	metricClosedUntil     = "petstore.client.rate_limit.closed_until"
	metricProcesses       = "petstore.client.rate_limit.processes"

	attributeOperation  = attribute.Key("petstore.operation")
	attributeUnknown    = attribute.Key("petstore.outcome_unknown")
	attributeAttempts   = attribute.Key("petstore.attempts")
	attributeCallID     = attribute.Key("petstore.call.id")
	attributeWaitReason = attribute.Key("petstore.wait.reason")
	attributeScope      = attribute.Key("petstore.rate_limit.scope")
)

// No test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// assertFailed asserts that a span failed with this error.type, or that it did not if that is
// empty.
func assertFailed(t *testing.T, errorType string, span sdktrace.ReadOnlySpan) {
	t.Helper()
	assert.Equal(t, errorType, value(span, semconv.ErrorTypeKey), span.Name())
	want := sdktrace.Status{}
	if errorType != "" {
		want.Code = codes.Error
	}
	assert.Equal(t, want, span.Status(), span.Name())
}
