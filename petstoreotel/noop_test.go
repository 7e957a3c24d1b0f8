package petstoreotel_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestNewCostsNextToNothingWhereNothingIsRecorded(t *testing.T) {
	noop := []petstoreotel.Option{
		petstoreotel.WithTracerProvider(tracenoop.NewTracerProvider()),
		petstoreotel.WithMeterProvider(metricnoop.NewMeterProvider()),
	}
	send := petstoreotel.WithPropagators(propagation.TraceContext{})
	bare := allocations(t)
	for _, c := range []struct {
		name string
		opts []petstoreotel.Option
		more float64 // allocations of a call
	}{
		{"no-op providers", noop, 1},
		{"no-op providers and a propagator", append(noop, send), 1},
		{"no-op providers, calls only", append(noop, petstoreotel.WithCallsOnly()), 0},
		{"no SDK installed", nil, 5},
		{"no SDK installed, calls only", []petstoreotel.Option{petstoreotel.WithCallsOnly()}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.LessOrEqual(t, allocations(t, petstoreotel.New(c.opts...))-bare, c.more)
		})
	}
}

// allocations is how many a listPets makes with some options.
func allocations(t *testing.T, opts ...petstore.Option) float64 {
	t.Helper()
	header := http.Header{"Content-Type": {"application/json"}}
	transport := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader("[]"))}, nil
	})
	client, err := petstore.NewClient("https://service.test/v1", "key", append(opts,
		petstore.WithLimiter(nil), petstore.WithHTTPClient(&http.Client{Transport: transport}))...)
	require.NoError(t, err)
	return testing.AllocsPerRun(200, func() {
		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
	})
}

func TestNewWithoutATracerStillPropagates(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	ctx := trace.ContextWithRemoteSpanContext(t.Context(), parent)
	for name, opts := range map[string][]petstoreotel.Option{
		"nor a meter":    {petstoreotel.WithMeterProvider(metricnoop.NewMeterProvider())},
		"but with meter": {petstoreotel.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())))},
	} {
		t.Run(name, func(t *testing.T) {
			s.server.Reset()
			client := s.bareClient(s.base(), petstoreotel.New(append(opts,
				petstoreotel.WithTracerProvider(tracenoop.NewTracerProvider()),
				petstoreotel.WithPropagators(propagation.TraceContext{}))...))
			_, err := client.ListPets(ctx, petstore.ListPetsParams{})
			require.NoError(t, err)
			sent := s.server.Requests()[0].Header.Get("Traceparent")
			assert.Equal(t, "00-01000000000000000000000000000000-0200000000000000-00", sent)
		})
	}
}

func TestNewWithoutATracerMeasures(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.opts = append(s.opts, petstoreotel.WithTracerProvider(tracenoop.NewTracerProvider()))
	_, err := s.newClient(s.base()).ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	assert.Empty(t, s.ended())
	assert.Len(t, s.durations(), 1)
	assert.NotNil(t, s.metric(petstoreotel.MetricCallDuration))
	assert.NotNil(t, s.metric(petstoreotel.MetricRemaining))
}
