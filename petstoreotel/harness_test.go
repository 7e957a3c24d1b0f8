package petstoreotel_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	return s.bareClient(s.server.APIKey(), append([]petstore.Option{petstoreotel.New(s.opts...)}, opts...)...)
}

// bareClient returns a client that is not recorded.
func (s *harness) bareClient(key string, opts ...petstore.Option) *petstore.Client {
	s.t.Helper()
	opts = append([]petstore.Option{petstore.WithHTTPClient(s.server.HTTPClient())}, opts...)
	client, err := petstore.NewClient("https://service.test/v1", key, opts...)
	require.NoError(s.t, err)
	return client
}

// list lists the pets, and create creates one. The error must match want, or be nil if want is nil.
func (s *harness) list(client *petstore.Client, want error) {
	s.t.Helper()
	_, err := client.ListPets(s.t.Context(), petstore.ListPetsParams{})
	require.ErrorIs(s.t, err, want)
}

func (s *harness) create(want error) {
	s.t.Helper()
	_, err := s.client.CreatePet(s.t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
	require.ErrorIs(s.t, err, want)
}

// roundTripper is a transport of the user.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// ended has a line for each span in the order in which they ended, requests before their call: its
// kind, name, status, duration and attributes, and for each event its name and attributes. Calls
// have an ID that no test can know.
func (s *harness) ended() (lines []string) {
	s.t.Helper()
	require.Len(s.t, s.spans.Ended(), len(s.spans.Started()), "every span has an end")
	for _, span := range s.spans.Ended() {
		took := span.EndTime().Sub(span.StartTime()).Round(time.Millisecond)
		status := map[codes.Code]string{codes.Unset: "ok", codes.Error: "failed"}[span.Status().Code]
		line := fmt.Sprintf("%s %s %s %v %s", span.SpanKind(), span.Name(), status, took, text(span.Attributes()))
		for _, event := range span.Events() {
			line += fmt.Sprintf(" + %s %s", event.Name, text(event.Attributes))
		}
		lines = append(lines, line)
	}
	return lines
}

// text returns attributes as text, with an @ for those of the server.
func text(attributes []attribute.KeyValue) string {
	set := attribute.NewSet(attributes...)
	set, _ = set.Filter(func(kv attribute.KeyValue) bool { return kv.Key != "petstore.call.id" })
	return strings.ReplaceAll(set.Encoded(attribute.DefaultEncoder()), "server.address=service.test,server.port=443", "@")
}

func (s *harness) collect() (scope metricdata.ScopeMetrics) {
	s.t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(s.t, s.reader.Collect(s.t.Context(), &all))
	for _, scope = range all.ScopeMetrics {
	}
	return scope
}

// values has the points of all metrics by name and attributes. Of a histogram it has the number of
// values, and their sum behind the name and a +.
func (s *harness) values() map[string]float64 {
	s.t.Helper()
	all := map[string]float64{}
	for _, m := range s.collect().Metrics {
		name := strings.TrimPrefix(m.Name, "petstore.client.")
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				all[name+" "+text(p.Attributes.ToSlice())] = float64(p.Value)
			}
		case metricdata.Gauge[float64]:
			for _, p := range data.DataPoints {
				all[name+" "+text(p.Attributes.ToSlice())] = p.Value
			}
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				all[name+" "+text(p.Attributes.ToSlice())] = float64(p.Count)
				all[name+"+ "+text(p.Attributes.ToSlice())] = p.Sum
			}
		}
	}
	return all
}

// of returns the values of one metric.
func (s *harness) of(name string) map[string]float64 {
	s.t.Helper()
	some := map[string]float64{}
	for key, value := range s.values() {
		if rest, ok := strings.CutPrefix(key, name+" "); ok {
			some[rest] = value
		}
	}
	return some
}

// ban has the service ban the key for d, in a response that shows a window with room.
func (s *harness) ban(d time.Duration) {
	s.server.Inject(fake.Fault{Status: 429, RetryAfter: strconv.Itoa(int(d.Seconds())), Header: http.Header{
		"X-RateLimit-Limit": {"1000"}, "X-RateLimit-Remaining": {"1000"},
		"X-RateLimit-Reset": {strconv.FormatInt(time.Now().Add(time.Minute).Unix(), 10)},
	}})
}
