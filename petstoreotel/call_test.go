package petstoreotel_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
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
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestCallSpanIsAroundThoseOfItsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t, fake.WithLatency(200*time.Millisecond))
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
			semconv.HTTPResponseStatusCode(201), petstoreotel.AttributeAttempts.Int(2)),
			without(set(call), petstoreotel.AttributeCallID))
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

func TestCallSpanHasTheCallIDOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		_, err := s.newClient(s.base(), petstore.WithLogger(logger)).ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		id := value(s.ended()[1], petstoreotel.AttributeCallID)
		require.NotEmpty(t, id)
		assert.Contains(t, log.String(), "call_id="+id+" ")
	})
}

func TestCallSpanIsPartOfTheCallersTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
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
	_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	assert.Len(t, s.ended(), 2)
	assert.Len(t, s.durations(), 1)
	assert.NotEmpty(t, s.server.Requests()[0].Header.Get("Traceparent"))
}

func TestSpanThatIsNotSampledIsPropagatedAndRecordsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
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

func TestCallSpanIsThatOfTheKeyFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		var seen []trace.SpanContext
		client, err := s.rotating(func(ctx context.Context) (string, error) {
			seen = append(seen, trace.SpanContextFromContext(ctx))
			return s.server.APIKey(), nil
		})
		require.NoError(t, err)
		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Equal(t, []trace.SpanContext{s.ended()[1].SpanContext()}, seen)
	})
}

func TestRequestSpanOfARequestForAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		s.server.Inject(fake.Fault{Operation: petstore.OpGetPet, Status: 503})
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
		s := newHarness(t)
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

func TestNewKeepsManyCallsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t, fake.WithPlan(fake.PlanFree), fake.WithSeed(1))
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
