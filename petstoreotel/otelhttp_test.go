package petstoreotel_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestWithCallsOnlyLeavesRequestsToOtelhttp(t *testing.T) {
	for name, c := range map[string]struct {
		opts  []petstoreotel.Option
		above bool
		spans int    // of a call with one request
		count uint64 // of http.client.request.duration
	}{
		"otelhttp below, without it": {spans: 3, count: 2},
		"otelhttp above, without it": {above: true, spans: 3, count: 2},
		"otelhttp below":             {opts: []petstoreotel.Option{petstoreotel.WithCallsOnly()}, spans: 2, count: 1},
		"otelhttp above":             {opts: []petstoreotel.Option{petstoreotel.WithCallsOnly()}, above: true, spans: 2, count: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newHarness(t)
				s.opts = append(s.opts, c.opts...)
				wrap := func(base http.RoundTripper) http.RoundTripper { return s.otelhttp(base) }
				client := s.bareClient(s.base(), append([]petstore.Option{petstore.WithTransport(wrap)},
					petstoreotel.New(s.opts...))...)
				if c.above {
					client = s.newClient(s.base(), petstore.WithTransport(wrap))
				}
				_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
				require.NoError(t, err)

				spans := s.ended()
				require.Len(t, spans, c.spans)
				call := spans[len(spans)-1]
				assert.Equal(t, "listPets", call.Name())
				for _, span := range spans[:len(spans)-1] {
					assert.Equal(t, call.SpanContext().TraceID(), span.SpanContext().TraceID(), "one tree")
				}
				assert.Equal(t, c.count, s.requestsMeasured())
				assert.NotEmpty(t, s.server.Requests()[0].Header.Get("Traceparent"))
			})
		})
	}
}

// otelhttp is the transport of the OpenTelemetry project's own, with the providers of s.
func (s *harness) otelhttp(base http.RoundTripper) http.RoundTripper {
	return otelhttp.NewTransport(base, otelhttp.WithTracerProvider(s.tracers), otelhttp.WithMeterProvider(s.meters),
		otelhttp.WithPropagators(propagation.TraceContext{}))
}

// requestsMeasured is how often http.client.request.duration was recorded, by whomever.
func (s *harness) requestsMeasured() (n uint64) {
	s.t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(s.t, s.reader.Collect(s.t.Context(), &all))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if data, ok := m.Data.(metricdata.Histogram[float64]); ok && m.Name == "http.client.request.duration" {
				for _, p := range data.DataPoints {
					n += p.Count
				}
			}
		}
	}
	return n
}

func TestWithCallsOnlyLeavesHeadersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		s.opts = append(s.opts, petstoreotel.WithCallsOnly())
		s.server.Inject(fake.Fault{Status: 429, RetryAfter: "3"})
		_, err := s.newClient(s.base()).ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		spans := s.ended()
		require.Len(t, spans, 1)
		assert.Equal(t, "2", value(spans[0], petstoreotel.AttributeAttempts))
		assert.Equal(t, "200", value(spans[0], "http.response.status_code"))
		require.Len(t, spans[0].Events(), 1)
		assert.Empty(t, s.durations())
		assert.NotNil(t, s.metric(petstoreotel.MetricCallDuration))
		assert.NotNil(t, s.metric(petstoreotel.MetricRemaining))
		assert.Empty(t, s.server.Requests()[0].Header.Get("Traceparent"))
	})
}

func TestBaggageIsSentToTheServiceByItsPropagatorOnly(t *testing.T) {
	for name, c := range map[string]struct {
		propagators propagation.TextMapPropagator
		sent        string
	}{
		"its propagator": {propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}), "user=4711"},
		"another":        {propagation.TraceContext{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newHarness(t)
				s.opts = append(s.opts, petstoreotel.WithPropagators(c.propagators))
				member, err := baggage.NewMember("user", "4711")
				require.NoError(t, err)
				bag, err := baggage.New(member)
				require.NoError(t, err)
				_, err = s.newClient(s.base()).ListPets(baggage.ContextWithBaggage(t.Context(), bag), petstore.ListPetsParams{})
				require.NoError(t, err)
				assert.Equal(t, c.sent, s.server.Requests()[0].Header.Get("Baggage"))
				for _, span := range s.ended() {
					assert.Empty(t, value(span, "user"))
				}
			})
		})
	}
}
