package petstoreotel_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestCallSpanIsAroundThoseOfItsRequests(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Status: 429, RetryAfter: "3"})
		_, err := s.client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
		require.NoError(t, err)

		spans := s.ended()
		require.Len(t, spans, 3)
		call := spans[2]
		assert.Equal(t, "createPet", call.Name())
		assert.Equal(t, trace.SpanKindInternal, call.SpanKind())
		assert.False(t, call.Parent().IsValid())
		assert.Equal(t, codes.Unset, call.Status().Code)
		assert.Equal(t, atService(attributeOperation.String("createPet"), semconv.HTTPRequestMethodPost,
			semconv.URLTemplate("/v1/pets"), semconv.HTTPResponseStatusCode(201), attributeAttempts.Int(2)),
			without(set(call), attributeCallID))
		assert.GreaterOrEqual(t, lasted(call), 3*time.Second, "the waiting is the call's")

		for i, outcome := range [][]attribute.KeyValue{
			{semconv.HTTPResponseStatusCode(429), semconv.ErrorTypeKey.String("429")},
			{semconv.HTTPResponseStatusCode(201), semconv.HTTPRequestResendCount(1)},
		} {
			request := spans[i]
			assert.Equal(t, "POST /v1/pets", request.Name())
			assert.Equal(t, trace.SpanKindClient, request.SpanKind())
			assert.Equal(t, call.SpanContext().SpanID(), request.Parent().SpanID())
			assert.Equal(t, 200*time.Millisecond, lasted(request))
			c, sent := request.SpanContext(), s.server.Requests()[i].Header
			assert.Equal(t, fmt.Sprintf("00-%s-%s-01", c.TraceID(), c.SpanID()), sent.Get("Traceparent"))
			assert.Equal(t, atService(append(outcome, attributeOperation.String("createPet"), semconv.HTTPRequestMethodPost,
				semconv.URLTemplate("/v1/pets"), semconv.URLFull("https://service.test/v1/pets"))...), set(request))
		}
		assert.Equal(t, sdktrace.Status{Code: codes.Error}, spans[0].Status())
		assert.Equal(t, codes.Unset, spans[1].Status().Code)
	}, fake.WithLatency(200*time.Millisecond))
}

func TestCallSpanHasTheCallIDOfTheLogAndIsPartOfTheCallersTrace(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		ctx, caller := sdktrace.NewTracerProvider().Tracer("caller").Start(t.Context(), "caller")
		_, err := s.newClient(petstore.WithLogger(logger)).ListPets(ctx, petstore.ListPetsParams{})
		require.NoError(t, err)
		spans := s.ended()
		require.Len(t, spans, 2)
		assert.Contains(t, log.String(), "call_id="+value(spans[1], attributeCallID)+" ")
		assert.Equal(t, caller.SpanContext().SpanID(), spans[1].Parent().SpanID())
		assert.Equal(t, caller.SpanContext().TraceID(), spans[0].SpanContext().TraceID())
	})
}

// TestTransportsAround has one above the recorded transport that logs in first, and sends each
// request twice.
func TestTransportsAround(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.list(s.newClient(petstore.WithTransport(func(below http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				login, err := http.NewRequestWithContext(req.Context(), http.MethodGet, "https://login.test/token", http.NoBody)
				require.NoError(t, err)
				for _, first := range []*http.Request{login, req} {
					resp, err := below.RoundTrip(first)
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
				}
				return below.RoundTrip(req)
			})
		})))
		spans := s.ended()
		require.Len(t, spans, 3, "the login is not the call's")
		assert.Empty(t, value(spans[0], semconv.HTTPResponseStatusCodeKey))
		assert.Equal(t, "200", value(spans[1], semconv.HTTPResponseStatusCodeKey))
		assert.Len(t, s.histogram(metricRequestDuration), 1)
	})
}

func TestNewKeepsManyCallsApart(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Status: 503, Chance: 0.2, Times: fake.Forever})
		const callers = 100
		var all sync.WaitGroup
		for range callers {
			all.Go(func() { _, _ = s.client.ListPets(t.Context(), petstore.ListPetsParams{}) })
		}
		all.Wait()
		requests := make(map[trace.SpanID]int) // by call
		for _, span := range s.ended() {
			requests[span.Parent().SpanID()]++
		}
		assert.Equal(t, callers, requests[trace.SpanID{}], "calls have no parent")
		assert.Len(t, requests, 1+callers)
		assert.Len(t, s.ended(), callers+len(s.server.Requests()))
	}, fake.WithPlan(fake.PlanFree), fake.WithSeed(1))
}

func TestDoIsRecordedWithoutItsPath(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		_, err := s.client.Do(t.Context(), http.MethodGet, "/pets/1?token=secret", nil, nil)
		require.ErrorIs(t, err, petstore.ErrNotFound)
		request, call := s.ended()[0], s.ended()[1]
		assert.Equal(t, []string{"GET /v1/{path}", "https://service.test/v1/{path}"}, []string{request.Name(), value(request, semconv.URLFullKey)})
		assert.Equal(t, []string{"do GET", "do GET"}, []string{call.Name(), value(call, attributeOperation)})
	})
}

func TestWaitIsAnEventOnTheSpanOfTheCall(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Status: 429, RetryAfter: "40"})
		s.server.Inject(fake.Fault{Status: 503})
		s.list(s.client)
		spans := s.ended()
		require.Len(t, spans, 4)
		require.Len(t, spans[3].Events(), 2)
		for i, reason := range []string{"minute", "backoff"} {
			event := spans[3].Events()[i]
			attributes := attribute.NewSet(event.Attributes...)
			got, _ := attributes.Value(attributeWaitReason)
			length, _ := attributes.Value("petstore.wait.duration")
			assert.Equal(t, reason, got.String())
			assert.InDelta(t, spans[i+1].StartTime().Sub(event.Time).Seconds(), length.AsFloat64(), 1e-6, "until the next request")
		}
	})
}

func TestRequestSpanLastsUntilTheResponseHasBeenRead(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Drip: 5 * time.Second})
		s.list(s.clientOf("https://[2001:db8::1]:8443/v1", s.server.APIKey(), petstoreotel.New(s.opts...)))
		request := s.ended()[0]
		assert.Greater(t, lasted(request), 3*time.Second)
		assert.Equal(t, []string{"2001:db8::1", "8443"}, []string{value(request, semconv.ServerAddressKey), value(request, semconv.ServerPortKey)})
		for _, p := range s.histogram(metricRequestDuration) {
			assert.InDelta(t, lasted(request).Seconds(), p.Sum, 1e-9, "the metric is the span's duration")
		}
	}, fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}))
}

func TestNoSpanIsLeftOpenAfterAPanic(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		client := s.newClient(over(func(*http.Request) (*http.Response, error) { panic("out of order") }))
		assert.PanicsWithValue(t, "out of order", func() { s.list(client) })
		require.Len(t, s.ended(), 2)
		for _, span := range s.ended() {
			assertFailed(t, "_OTHER", span)
		}
	})
}

func TestTraceThatDropsTheContextOfTheCall(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.list(s.newClient(petstore.WithTrace(&petstore.ClientTrace{
			CallStart: func(context.Context, petstore.Call) context.Context { return t.Context() },
		})))
		assert.Len(t, s.histogram(metricCallDuration), 1)
	})
}
