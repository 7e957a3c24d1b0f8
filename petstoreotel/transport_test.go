package petstoreotel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	otelmetric "go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

// station is a fake of the service, a client that reaches it through the transport, and what that recorded.
type station struct {
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

func newStation(t *testing.T, opts ...fake.Option) *station {
	t.Helper()
	s := &station{
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
	s.options = petstoreotel.New(s.opts...)
	s.client = s.bareClient(s.base(), s.options...)
	return s
}

// base is what is below the transport under test.
func (s *station) base() http.RoundTripper { return s.server.HTTPClient().Transport }

// transport is a new one that records requests only.
func (s *station) transport() http.RoundTripper {
	return petstoreotel.NewTransport(s.base(), s.opts...)
}

// newClient returns a client that is recorded, and sends through base.
func (s *station) newClient(base http.RoundTripper, opts ...petstore.Option) *petstore.Client {
	s.t.Helper()
	return s.bareClient(base, append(petstoreotel.New(s.opts...), opts...)...)
}

// bareClient returns a client that is not recorded.
func (s *station) bareClient(base http.RoundTripper, opts ...petstore.Option) *petstore.Client {
	s.t.Helper()
	opts = append([]petstore.Option{petstore.WithHTTPClient(&http.Client{Transport: base})}, opts...)
	client, err := petstore.NewClient("https://service.test/v1", s.server.APIKey(), opts...)
	require.NoError(s.t, err)
	return client
}

// rotating returns a client that is recorded and asks f for its key.
func (s *station) rotating(f func(context.Context) (string, error)) (*petstore.Client, error) {
	return petstore.NewClient("https://service.test/v1", "", append(petstoreotel.New(s.opts...),
		petstore.WithHTTPClient(s.server.HTTPClient()), petstore.WithAPIKeyFunc(f))...)
}

// ended are the spans in the order in which they ended: requests before their call.
func (s *station) ended() []sdktrace.ReadOnlySpan {
	started := len(s.spans.Started())
	require.Len(s.t, s.spans.Ended(), started, "every span has an end")
	return s.spans.Ended()
}

// metric is what the reader has of one metric, nil if nothing.
func (s *station) metric(name string) metricdata.Aggregation {
	s.t.Helper()
	for _, m := range s.collect().Metrics {
		if m.Name == name {
			return m.Data
		}
	}
	return nil
}

func (s *station) collect() metricdata.ScopeMetrics {
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
func (s *station) durations() map[attribute.Distinct]metricdata.HistogramDataPoint[float64] {
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

func TestCallSpanIsAroundThoseOfItsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t, fake.WithLatency(200*time.Millisecond))
		s.server.Inject(fake.Fault{Status: 429, RetryAfter: "3"})

		_, err := s.client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
		require.NoError(t, err)

		spans := s.ended()
		require.Len(t, spans, 3)
		first, second, call := spans[0], spans[1], spans[2]

		assert.Equal(t, "createPet", call.Name())
		assert.Equal(t, trace.SpanKindInternal, call.SpanKind())
		assert.False(t, call.Parent().IsValid())
		assert.Equal(t, codes.Unset, call.Status().Code)
		assert.Equal(t, attribute.NewSet(
			petstoreotel.AttributeOperation.String("createPet"), semconv.HTTPRequestMethodPost,
			semconv.URLTemplate("/v1/pets"), semconv.ServerAddress("service.test"), semconv.ServerPort(443),
			semconv.HTTPResponseStatusCode(201), petstoreotel.AttributeAttempts.Int(2)), set(call))
		assert.GreaterOrEqual(t, lasted(call), 3*time.Second, "the waiting is the call's")

		both := atService(petstoreotel.AttributeOperation.String("createPet"), semconv.HTTPRequestMethodPost,
			semconv.URLTemplate("/v1/pets"), semconv.URLFull("https://service.test/v1/pets"),
			semconv.NetworkProtocolVersion("1.1"))
		for _, request := range spans[:2] {
			assert.Equal(t, "POST /v1/pets", request.Name())
			assert.Equal(t, trace.SpanKindClient, request.SpanKind())
			assert.Equal(t, call.SpanContext().SpanID(), request.Parent().SpanID())
			assert.Equal(t, petstoreotel.ScopeName, request.InstrumentationScope().Name)
			assert.Equal(t, petstore.Version, request.InstrumentationScope().Version)
			assert.Equal(t, semconv.SchemaURL, request.InstrumentationScope().SchemaURL)
		}
		assert.Equal(t, attribute.NewSet(append(both,
			semconv.HTTPResponseStatusCode(429), semconv.ErrorTypeKey.String("429"))...), set(first))
		assert.Equal(t, sdktrace.Status{Code: codes.Error}, first.Status())
		assert.Equal(t, attribute.NewSet(append(both,
			semconv.HTTPResponseStatusCode(201), semconv.HTTPRequestResendCount(1))...), set(second))
		assert.Equal(t, codes.Unset, second.Status().Code)
		assert.Equal(t, 200*time.Millisecond, lasted(second))
	})
}

func TestCallSpanIsPartOfTheCallersTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t)
		tracer := sdktrace.NewTracerProvider().Tracer("caller")
		ctx, caller := tracer.Start(t.Context(), "caller")
		_, err := s.client.ListPets(ctx, petstore.ListPetsParams{})
		require.NoError(t, err)

		spans := s.ended()
		require.Len(t, spans, 2)
		assert.Equal(t, caller.SpanContext().SpanID(), spans[1].Parent().SpanID())
		assert.Equal(t, caller.SpanContext().TraceID(), spans[0].SpanContext().TraceID())
	})
}

func TestRequestCarriesTheContextOfItsOwnSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t)
		s.server.Inject(fake.Fault{Status: 503})
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)

		requests, spans := s.server.Requests(), s.ended()
		require.Len(t, requests, 2)
		for i, request := range requests {
			c := spans[i].SpanContext()
			assert.Equal(t, fmt.Sprintf("00-%s-%s-01", c.TraceID(), c.SpanID()), request.Header.Get("Traceparent"))
		}
	})
}

func TestNewTakesTheGlobalProvidersByDefault(t *testing.T) {
	s := newStation(t)
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
		petstoreotel.WithMeterProvider(nil), petstoreotel.WithPropagators(nil), nil)...)
	_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	assert.Len(t, s.ended(), 2)
	assert.Len(t, s.durations(), 1)
	assert.NotEmpty(t, s.server.Requests()[0].Header.Get("Traceparent"))
}

func TestSpanThatIsNotSampledIsPropagatedAndRecordsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t)
		s.opts = append(s.opts, petstoreotel.WithTracerProvider(sdktrace.NewTracerProvider(
			sdktrace.WithSpanProcessor(s.spans), sdktrace.WithSampler(sdktrace.NeverSample()))))
		s.client = s.newClient(s.base())
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)

		assert.Empty(t, s.spans.Started())
		assert.Regexp(t, "^00-[0-9a-f]{32}-[0-9a-f]{16}-00$", s.server.Requests()[0].Header.Get("Traceparent"))
		assert.Len(t, s.durations(), 1, "metrics are not sampled")
	})
}

func TestTransportLeavesTheRequestAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t)
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
		s := newStation(t)
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
		s := newStation(t)
		s.opts = append(s.opts, petstoreotel.WithPropagators(propagation.NewCompositeTextMapPropagator()))
		_, err := s.newClient(s.base()).ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		traced := s.server.Requests()[0].Header
		_, err = s.server.Client().ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Equal(t, s.server.Requests()[1].Header, traced)
	})
}

func TestRequestSpanOfNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t)
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
		assert.Nil(t, s.metric(petstoreotel.MetricWaitTime))
	})
}

func TestRequestSpanHasTheFullURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t)
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
		t.Run(c.url, func(t *testing.T) {
			t.Parallel()
			s := newStation(t)
			rt := petstoreotel.NewTransport(roundTripper(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK}, nil
			}), s.opts...)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, http.NoBody)
			require.NoError(t, err)
			_, err = rt.RoundTrip(req) //nolint:bodyclose // there is none
			require.NoError(t, err)
			span := s.ended()[0]
			assert.Equal(t, c.address, value(span, semconv.ServerAddressKey))
			assert.Equal(t, strconv.Itoa(c.port), value(span, semconv.ServerPortKey))
			assert.Empty(t, value(span, semconv.NetworkProtocolVersionKey), "the transport did not say")
		})
	}
}

func TestTransportLeavesItToTheBaseToRefuse(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	rt := petstoreotel.NewTransport(new(http.Transport), s.opts...)
	_, err := rt.RoundTrip((&http.Request{}).WithContext(t.Context())) //nolint:bodyclose // it fails
	require.Error(t, err)
	assert.Len(t, s.ended(), 1)
}

func TestCallSpanIsThatOfTheKeyFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t)
		var asked []trace.SpanContext
		client, err := s.rotating(func(ctx context.Context) (string, error) {
			asked = append(asked, trace.SpanContextFromContext(ctx))
			return s.server.APIKey(), nil
		})
		require.NoError(t, err)
		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Equal(t, []trace.SpanContext{s.ended()[1].SpanContext()}, asked)
	})
}

func TestRequestSpanOfARequestForAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t)
		s.server.Inject(fake.Fault{Operation: fake.OpGetPet, Status: 503})
		rt := s.transport()
		client, err := s.rotating(func(ctx context.Context) (string, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://login.test/token/4711?secret=x", http.NoBody)
			require.NoError(t, err)
			resp, err := (&http.Client{Transport: rt}).Do(req)
			require.NoError(t, err)
			return s.server.APIKey(), resp.Body.Close()
		})
		require.NoError(t, err)
		_, err = client.GetPet(t.Context(), 4711) //nolint:staticcheck // the operation with an id in its path
		require.ErrorIs(t, err, petstore.ErrNotFound)

		spans := s.ended()
		require.Len(t, spans, 5)
		call := spans[4]
		for i, span := range spans[:4] {
			assert.Equal(t, call.SpanContext().SpanID(), span.Parent().SpanID())
			if i%2 == 1 {
				assert.Equal(t, "GET /v1/pets/{petId}", span.Name())
				assert.Equal(t, []string{"", "1"}[i/2], value(span, semconv.HTTPRequestResendCountKey))
				continue
			}
			assert.Equal(t, "GET", span.Name())
			assert.Equal(t, "login.test", value(span, semconv.ServerAddressKey))
			for _, key := range []attribute.Key{
				petstoreotel.AttributeOperation, semconv.URLTemplateKey, semconv.HTTPRequestResendCountKey,
			} {
				assert.Empty(t, value(span, key), key)
			}
		}
		assert.EqualValues(t, 2, s.waits()[""].Count)
	})
}

var errNoKey = errors.New("no key to be had")

func TestCallSpanHasNoStatusOfARequestForAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t)
		rt := s.transport()
		client, err := s.rotating(func(ctx context.Context) (string, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://login.test/token", http.NoBody)
			require.NoError(t, err)
			resp, err := (&http.Client{Transport: rt}).Do(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			return "", errNoKey
		})
		require.NoError(t, err)
		_, err = client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex"})
		require.ErrorIs(t, err, errNoKey)

		spans := s.ended()
		require.Len(t, spans, 2)
		assert.Equal(t, "404", value(spans[0], semconv.HTTPResponseStatusCodeKey))
		assert.Empty(t, value(spans[1], semconv.HTTPResponseStatusCodeKey))
	})
}

func TestTransportLeavesNoSpanOpenOverABrokenBase(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]roundTripper{
		"panic":   func(*http.Request) (*http.Response, error) { panic("out of order") },
		"nothing": func(*http.Request) (*http.Response, error) { return nil, nil }, //nolint:nilnil // what is wrong with it
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStation(t)
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
			s := newStation(t)
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

func TestRequestSpanLastsUntilTheResponseHasBeenRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t, fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}))
		s.server.Inject(fake.Fault{Wire: fake.WireDrip}) // a byte each 100 ms
		result, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		require.Len(t, result.Pets, 1)

		request := s.ended()[0]
		assert.Greater(t, lasted(request), 3*time.Second)
		for _, p := range s.durations() {
			assert.InDelta(t, lasted(request).Seconds(), p.Sum, 0, "the metric is the span's duration")
		}
	})
}

func TestRequestSpanEndsWithAHeaderWithoutABody(t *testing.T) {
	t.Parallel()
	connection := new(upgraded)
	for name, answer := range map[string]*http.Response{
		"nil":      {StatusCode: http.StatusNoContent},
		"NoBody":   {StatusCode: http.StatusNoContent, Body: http.NoBody},
		"upgraded": {StatusCode: http.StatusSwitchingProtocols, Body: connection},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStation(t)
			body := answer.Body
			rt := petstoreotel.NewTransport(roundTripper(func(*http.Request) (*http.Response, error) {
				return answer, nil
			}), s.opts...)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://service.test/", http.NoBody)
			require.NoError(t, err)
			resp, err := rt.RoundTrip(req) //nolint:bodyclose // nothing behind it
			require.NoError(t, err)
			assert.Len(t, s.ended(), 1)
			assert.Equal(t, body, resp.Body)
		})
	}
}

// upgraded is a connection that is no longer HTTP.
type upgraded struct{ io.ReadWriteCloser }

func TestRequestSpanEndsWhenAResponseIsClosedUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t)
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

func TestNewTransportWithoutABaseKeepsConnectionsAsAClientDoes(t *testing.T) {
	t.Parallel()
	s := newStation(t)
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

func TestNewKeepsManyCallsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t, fake.WithPlan(fake.PlanFree), fake.WithSeed(1))
		s.server.Inject(fake.Fault{Status: 503, Chance: 0.2, Times: fake.Forever})
		const callers = 100
		var all sync.WaitGroup
		for range callers {
			all.Go(func() { _, _ = s.client.ListPets(t.Context(), petstore.ListPetsParams{}) })
		}
		all.Wait()

		calls := make(map[trace.SpanID]int)
		for _, span := range s.ended() {
			if span.SpanKind() == trace.SpanKindInternal {
				calls[span.SpanContext().SpanID()] += 0
				continue
			}
			resend := calls[span.Parent().SpanID()]
			want := ""
			if resend > 0 {
				want = strconv.Itoa(resend)
			}
			assert.Equal(t, want, value(span, semconv.HTTPRequestResendCountKey))
			calls[span.Parent().SpanID()]++
		}
		assert.Len(t, calls, callers)
		var requests int
		for _, n := range calls {
			requests += n
		}
		assert.Len(t, s.server.Requests(), requests)
		var counted uint64
		for _, p := range s.durations() {
			counted += p.Count
		}
		assert.EqualValues(t, requests, counted)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
