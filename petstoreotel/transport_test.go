package petstoreotel_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestTransportLeavesTheRequestAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		body := &payload{strings.NewReader(`{"name":"Rex","categoryId":1}`)}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://service.test/v1/pets", body)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+s.server.APIKey())
		req.Header.Set("Content-Type", "application/json")
		before := req.Header.Clone()
		var sent *http.Request
		rt := petstoreotel.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			sent = r
			return s.server.Transport().RoundTrip(r)
		}), s.opts...)

		resp, err := rt.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())

		assert.Equal(t, before, req.Header)
		assert.NotEmpty(t, sent.Header.Get("Traceparent"))
		assert.Same(t, body, sent.Body, "what is around a body costs a write of its own")
	})
}

type payload struct{ io.Reader }

func (*payload) Close() error { return nil }

func TestCarrierShowsThePropagatorTheHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		s.opts = append(s.opts, petstoreotel.WithPropagators(appending{}))
		_, err := s.newClient(s.base()).ListPets(t.Context(), petstore.ListPetsParams{},
			petstore.WithHeader("Via", "caller"))
		require.NoError(t, err)
		assert.Equal(t, "caller, propagator", s.server.Requests()[0].Header.Get("Via"))
	})
}

// appending adds to the Via header, if there is one.
type appending struct{}

func (appending) Fields() []string { return []string{"Via"} }

func (appending) Inject(_ context.Context, carrier propagation.TextMapCarrier) {
	if slices.Contains(carrier.Keys(), "Via") {
		carrier.Set("Via", carrier.Get("Via")+", propagator")
	}
}

func (appending) Extract(ctx context.Context, _ propagation.TextMapCarrier) context.Context {
	return ctx
}

func TestWithPropagatorsOfNothingAddsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		s.opts = append(s.opts, petstoreotel.WithPropagators(propagation.NewCompositeTextMapPropagator()))
		_, err := s.newClient(s.base()).ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		traced := s.server.Requests()[0].Header
		_, err = s.server.Client().ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Equal(t, s.server.Requests()[1].Header, traced)
	})
}

func TestTransportLeavesItToTheBaseToRefuse(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	rt := petstoreotel.NewTransport(new(http.Transport), s.opts...)
	_, err := rt.RoundTrip((&http.Request{}).WithContext(t.Context())) //nolint:bodyclose // it fails
	require.Error(t, err)
	assert.Len(t, s.ended(), 1)
}

func TestTransportLeavesNoSpanOpenOverABrokenBase(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]roundTripper{
		"panic":   func(*http.Request) (*http.Response, error) { panic("out of order") },
		"nothing": func(*http.Request) (*http.Response, error) { return nil, nil }, //nolint:nilnil // what is wrong with it
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newHarness(t)
			hc := &http.Client{Transport: petstoreotel.NewTransport(base, s.opts...)}
			get := func() {
				_, err := hc.Get("https://service.test/") //nolint:bodyclose // there is none
				assert.ErrorContains(t, err, "nil *Response")
			}
			if name == "panic" {
				assert.PanicsWithValue(t, "out of order", get)
			} else {
				get()
			}
			spans := s.ended()
			require.Len(t, spans, 1)
			assertFailed(t, "_OTHER", spans[0])
			assert.Len(t, s.durations(), 1)
		})
	}
}

func TestNewTransport(t *testing.T) {
	t.Run("records the requests of a client only", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newHarness(t)
			client := s.bareClient(s.transport())
			s.server.Inject(fake.Fault{Status: 429, RetryAfter: "3"})
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)

			spans := s.ended()
			require.Len(t, spans, 2, "no span of the call")
			for i, span := range spans {
				assert.Equal(t, "GET /v1/pets", span.Name())
				assert.Equal(t, "listPets", value(span, petstoreotel.AttributeOperation))
				assert.Equal(t, []string{"", "1"}[i], value(span, semconv.HTTPRequestResendCountKey))
			}
			assert.Len(t, s.collect().Metrics, 1)
			assert.Len(t, s.durations(), 2)
		})
	})
}

func TestNewTransportWithoutABaseKeepsConnectionsAsAClientDoes(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	rt := petstoreotel.NewTransport(nil, s.opts...)
	client, err := petstore.NewClient(s.server.URL(), s.server.APIKey(),
		petstore.WithHTTPClient(&http.Client{Transport: rt}))
	require.NoError(t, err)
	_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	request := s.ended()[0]
	assert.Equal(t, "http", value(request, semconv.URLSchemeKey))
	assert.Equal(t, s.server.URL()+"/pets", value(request, semconv.URLFullKey), "with its port")

	base, ok := rt.(interface{ Unwrap() http.RoundTripper }).Unwrap().(*http.Transport)
	require.True(t, ok)
	assert.Equal(t, 64, base.MaxIdleConnsPerHost)
	assert.Equal(t, 64, base.MaxIdleConns)
	assert.EqualValues(t, 1<<20, base.MaxResponseHeaderBytes)
	assert.NotSame(t, http.DefaultTransport, base)
	base.CloseIdleConnections()
}

func TestTransportClosesIdleConnectionsOfTheBase(t *testing.T) {
	t.Parallel()
	base := new(pooled)
	(&http.Client{Transport: petstoreotel.NewTransport(base)}).CloseIdleConnections()
	assert.Equal(t, 1, base.closed)
	(&http.Client{Transport: petstoreotel.NewTransport(base.RoundTripper)}).CloseIdleConnections()
}

type pooled struct {
	http.RoundTripper
	closed int
}

func (p *pooled) CloseIdleConnections() { p.closed++ }
