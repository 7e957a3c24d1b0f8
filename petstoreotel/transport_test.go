package petstoreotel_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestTransportLeavesTheRequestAsItIs(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		body := &payload{strings.NewReader(`{"name":"Rex","categoryId":1}`)}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://service.test/v1/pets", body)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+s.server.APIKey())
		req.Header.Set("Content-Type", "application/json")
		before := req.Header.Clone()
		var sent *http.Request
		rt := petstoreotel.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			sent = r
			return s.server.HTTPClient().Transport.RoundTrip(r)
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
	recorded(t, func(t *testing.T, s *harness) {
		s.opts = append(s.opts, petstoreotel.WithPropagators(injector(func(carrier propagation.TextMapCarrier) {
			if slices.Contains(carrier.Keys(), "Via") {
				carrier.Set("Via", carrier.Get("Via")+", propagator")
			}
		})))
		_, err := s.newClient(s.base()).ListPets(t.Context(), petstore.ListPetsParams{},
			petstore.WithHeader("Via", "caller"))
		require.NoError(t, err)
		assert.Equal(t, "caller, propagator", s.server.Requests()[0].Header.Get("Via"))
	})
}

// injector is a propagator.
type injector func(propagation.TextMapCarrier)

func (injector) Fields() []string                                               { return nil }
func (f injector) Inject(_ context.Context, carrier propagation.TextMapCarrier) { f(carrier) }

func (injector) Extract(ctx context.Context, _ propagation.TextMapCarrier) context.Context {
	return ctx
}

func TestWithPropagatorsOfNothingAddsNothing(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.opts = append(s.opts, petstoreotel.WithPropagators(propagation.NewCompositeTextMapPropagator()))
		s.list(s.newClient(s.base()))
		traced := s.server.Requests()[0].Header
		s.list(s.server.Client())
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

func TestNewTransportRecordsRequestsOnly(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		client := s.bareClient(s.transport())
		s.server.Inject(fake.Fault{Status: 429, RetryAfter: "3"})
		s.list(client)

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
}

func TestNewTransportWithoutABaseKeepsConnectionsAsAClientDoes(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	rt := petstoreotel.NewTransport(nil, s.opts...)
	client, err := petstore.NewClient(s.server.URL(), s.server.APIKey(),
		petstore.WithHTTPClient(&http.Client{Transport: rt}))
	require.NoError(t, err)
	s.list(client)
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

func TestRequestCarriesTheContextOfItsOwnSpan(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Status: 503})
		s.list(s.client)

		requests, spans := s.server.Requests(), s.ended()
		require.Len(t, requests, 2)
		for i, request := range requests {
			c := spans[i].SpanContext()
			assert.Equal(t, fmt.Sprintf("00-%s-%s-01", c.TraceID(), c.SpanID()), request.Header.Get("Traceparent"))
		}
	})
}

func TestRequestSpanOfNoCall(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		hc := &http.Client{Transport: s.transport()}
		get := func(method string) {
			req, err := http.NewRequestWithContext(t.Context(), method,
				"http://user:secret@service.test:8080/v1/pets/4711?status=sold", http.NoBody)
			require.NoError(t, err)
			resp, err := hc.Do(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
		}
		get(http.MethodDelete)
		get("ADOPT")

		spans := s.ended()
		require.Len(t, spans, 2)
		common := []attribute.KeyValue{
			semconv.ServerAddress("service.test"), semconv.ServerPort(8080), semconv.URLScheme("http"),
			semconv.HTTPResponseStatusCode(401), semconv.ErrorTypeKey.String("401"),
			semconv.NetworkProtocolVersion("1.1"), semconv.URLFull("http://service.test:8080/REDACTED"),
		}
		assert.Equal(t, "DELETE", spans[0].Name())
		assert.Equal(t, attribute.NewSet(append(common, semconv.HTTPRequestMethodDelete)...), set(spans[0]))
		assert.Equal(t, "HTTP", spans[1].Name())
		assert.Equal(t, attribute.NewSet(append(common, semconv.HTTPRequestMethodOther,
			semconv.HTTPRequestMethodOriginal("ADOPT"))...), set(spans[1]))
		assert.Nil(t, s.metric(metricWaitTime))
	})
}

func TestRequestSpanHasTheFullURL(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 7, Status: petstore.PetStatusSold})
		require.NoError(t, err)
		_, err = s.client.GetPet(t.Context(), -4711) //nolint:staticcheck // the operation with an id in its path
		require.ErrorIs(t, err, petstore.ErrNotFound)
		spans := s.ended()
		assert.Equal(t, "https://service.test/v1/pets?limit=7&status=sold", value(spans[0], semconv.URLFullKey))
		assert.Equal(t, "https://service.test/v1/pets/-4711", value(spans[2], semconv.URLFullKey))
		assert.Equal(t, "/v1/pets/{petId}", value(spans[2], semconv.URLTemplateKey))
		for _, call := range []sdktrace.ReadOnlySpan{spans[1], spans[3]} {
			assert.Empty(t, value(call, semconv.URLFullKey))
		}
	})
}

func TestServerIsThatOfTheURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url, address string
		port         int
	}{
		{"https://petstore.example.com/v1/pets", "petstore.example.com", 443},
		{"http://localhost/v1/pets", "localhost", 80},
		{"http://127.0.0.1:4010/v1/pets", "127.0.0.1", 4010},
		{"https://[2001:db8::1]/v1/pets", "2001:db8::1", 443},
		{"https://[2001:db8::1]:8443/v1/pets", "2001:db8::1", 8443},
	} {
		s := newHarness(t)
		s.send(c.url, &http.Response{StatusCode: http.StatusOK})
		span := s.ended()[0]
		assert.Equal(t, c.address, value(span, semconv.ServerAddressKey))
		assert.Equal(t, strconv.Itoa(c.port), value(span, semconv.ServerPortKey))
		assert.Empty(t, value(span, semconv.NetworkProtocolVersionKey), "the transport did not say")
	}
}

// send sends a request through a transport under test, to a base that returns resp.
func (s *harness) send(url string, resp *http.Response) {
	s.t.Helper()
	rt := petstoreotel.NewTransport(roundTripper(func(*http.Request) (*http.Response, error) { return resp, nil }), s.opts...)
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(s.t, err)
	_, err = rt.RoundTrip(req) //nolint:bodyclose // there is none
	require.NoError(s.t, err)
}

func TestRequestSpanLastsUntilTheResponseHasBeenRead(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Wire: fake.WireDrip}) // a byte each 100 ms
		result, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		require.Len(t, result.Pets, 1)

		request := s.ended()[0]
		assert.Greater(t, lasted(request), 3*time.Second)
		for _, p := range s.durations() {
			assert.InDelta(t, lasted(request).Seconds(), p.Sum, 0, "the metric is the span's duration")
		}
	}, fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}))
}

func TestRequestSpanEndsWithAHeaderWithoutABody(t *testing.T) {
	t.Parallel()
	for _, resp := range []*http.Response{
		{StatusCode: http.StatusNoContent},
		{StatusCode: http.StatusNoContent, Body: http.NoBody},
		{StatusCode: http.StatusSwitchingProtocols, Body: new(upgraded)},
	} {
		s, body := newHarness(t), resp.Body
		s.send("https://service.test/", resp)
		assert.Len(t, s.ended(), 1)
		assert.Equal(t, body, resp.Body)
	}
}

// upgraded is a connection that is no longer HTTP.
type upgraded struct{ io.ReadWriteCloser }

func TestRequestSpanEndsWhenAResponseIsClosedUnread(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		resp, err := (&http.Client{Transport: s.transport()}).Get("https://service.test/v1/pets")
		require.NoError(t, err)
		assert.Empty(t, s.spans.Ended())
		time.Sleep(time.Second)
		require.NoError(t, resp.Body.Close())
		require.NoError(t, resp.Body.Close())
		require.Len(t, s.ended(), 1)
		assert.Equal(t, time.Second, lasted(s.ended()[0]))
	})
}

func TestWithCallsOnlyLeavesRequestsToOtelhttp(t *testing.T) {
	for name, above := range map[string]bool{"otelhttp below": false, "otelhttp above": true} {
		t.Run(name, func(t *testing.T) {
			recorded(t, func(t *testing.T, s *harness) {
				s.opts = append(s.opts, petstoreotel.WithCallsOnly())
				wrap := petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper {
					return otelhttp.NewTransport(base, otelhttp.WithTracerProvider(s.tracers),
						otelhttp.WithMeterProvider(s.meters), otelhttp.WithPropagators(propagation.TraceContext{}))
				})
				client := s.bareClient(s.base(), wrap, petstoreotel.New(s.opts...))
				if above {
					client = s.newClient(s.base(), wrap)
				}
				s.list(client)

				spans := s.ended()
				require.Len(t, spans, 2, "of a call with one request")
				assert.Equal(t, "listPets", spans[1].Name())
				assert.Equal(t, spans[1].SpanContext().SpanID(), spans[0].Parent().SpanID())
				assert.NotEmpty(t, s.server.Requests()[0].Header.Get("Traceparent"))
			})
		})
	}
}

func TestWithCallsOnlyLeavesHeadersAlone(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.opts = append(s.opts, petstoreotel.WithCallsOnly())
		s.server.Inject(fake.Fault{Status: 429, RetryAfter: "3"})
		s.list(s.newClient(s.base()))
		spans := s.ended()
		require.Len(t, spans, 1)
		assert.Equal(t, "2", value(spans[0], attributeAttempts))
		assert.Equal(t, "200", value(spans[0], "http.response.status_code"))
		require.Len(t, spans[0].Events(), 1)
		assert.Empty(t, s.durations())
		assert.NotNil(t, s.metric(metricCallDuration))
		assert.NotNil(t, s.metric(metricRemaining))
		assert.Empty(t, s.server.Requests()[0].Header.Get("Traceparent"))
	})
}

func TestBaggageIsSentToTheServiceByItsPropagatorOnly(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		member, err := baggage.NewMember("user", "4711")
		require.NoError(t, err)
		bag, err := baggage.New(member)
		require.NoError(t, err)
		ctx := baggage.ContextWithBaggage(t.Context(), bag)
		_, err = s.client.ListPets(ctx, petstore.ListPetsParams{})
		require.NoError(t, err)
		s.opts = append(s.opts, petstoreotel.WithPropagators(propagation.Baggage{}))
		_, err = s.newClient(s.base()).ListPets(ctx, petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Empty(t, s.server.Requests()[0].Header.Get("Baggage"))
		assert.Equal(t, "user=4711", s.server.Requests()[1].Header.Get("Baggage"))
		for _, span := range s.ended() {
			assert.Empty(t, value(span, "user"))
		}
	})
}

// It stands at the end, because nothing brings back the providers of a program without an SDK.
func TestNewTakesTheGlobalProvidersByDefault(t *testing.T) {
	s := newHarness(t)
	s.reader = metric.NewManualReader() // one belongs to one provider
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans)))
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(s.reader)))
	otel.SetTextMapPropagator(propagation.TraceContext{})
	t.Cleanup(func() {
		otel.SetTracerProvider(tracenoop.NewTracerProvider())
		otel.SetMeterProvider(metricnoop.NewMeterProvider())
		otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator())
	})
	client := s.bareClient(s.base(), petstoreotel.New(petstoreotel.WithTracerProvider(nil),
		petstoreotel.WithMeterProvider(nil), petstoreotel.WithPropagators(nil), nil))
	s.list(client)
	assert.Len(t, s.ended(), 2)
	assert.Len(t, s.durations(), 1)
	assert.NotEmpty(t, s.server.Requests()[0].Header.Get("Traceparent"))
}
