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

func TestDoIsRecordedAsOperationsAre(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Status: 503})
		_, err := s.client.Do(t.Context(), http.MethodGet, "/pets/1?token=secret", nil, nil)
		require.ErrorIs(t, err, petstore.ErrNotFound)
		spans := s.ended()
		require.Len(t, spans, 3)
		for i, want := range [][]string{
			{"GET /v1/{path}", "do GET", "/v1/{path}", "GET", "", "https://service.test/v1/{path}"},
			{"GET /v1/{path}", "do GET", "/v1/{path}", "GET", "1", "https://service.test/v1/{path}"},
			{"do GET", "do GET", "/v1/{path}", "GET", "", ""},
		} {
			got := []string{spans[i].Name()}
			for _, key := range []attribute.Key{
				attributeOperation, semconv.URLTemplateKey, semconv.HTTPRequestMethodKey, semconv.HTTPRequestResendCountKey,
				semconv.URLFullKey,
			} {
				got = append(got, value(spans[i], key))
			}
			assert.Equal(t, want, got)
		}
	})
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
// request twice, and one below that speaks HTTP/2.
func TestTransportsAround(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		http2 := over(func(req *http.Request) (*http.Response, error) {
			resp, err := s.server.HTTPClient().Transport.RoundTrip(req)
			resp.ProtoMajor = 2
			return resp, err
		})
		s.list(s.newClient(http2, petstore.WithTransport(func(below http.RoundTripper) http.RoundTripper {
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

func TestTraceThatDropsTheContextOfTheCall(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.list(s.newClient(petstore.WithTrace(&petstore.ClientTrace{
			CallStart: func(context.Context, petstore.Call) context.Context { return t.Context() },
		})))
		assert.Len(t, s.histogram(metricCallDuration), 1)
	})
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

func TestWaitIsAnEventOnTheSpanOfTheCall(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		begun := time.Now()
		s.server.Inject(fake.Fault{Status: 429, RetryAfter: "40"})
		s.server.Inject(fake.Fault{Status: 503})
		s.list(s.client)

		spans := s.ended()
		require.Len(t, spans, 4)
		events := spans[3].Events()
		require.Len(t, events, 2)
		for i, reason := range []string{"minute", "backoff"} {
			attributes := attribute.NewSet(events[i].Attributes...)
			got, _ := attributes.Value(attributeWaitReason)
			calls, _ := attributes.Value("petstore.wait.waiting_calls")
			length, _ := attributes.Value("petstore.wait.duration")
			assert.Equal(t, []string{"petstore.wait", reason, "1"}, []string{events[i].Name, got.String(), calls.String()})
			next := spans[i+1].StartTime()
			assert.InDelta(t, next.Sub(events[i].Time).Seconds(), length.AsFloat64(), 1e-6, "until the next request")
		}
		assert.Equal(t, begun, events[0].Time)
	})
}

func TestRequestSpanLastsUntilTheResponseHasBeenRead(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Drip: 5 * time.Second})
		s.list(s.client)
		request := s.ended()[0]
		assert.Greater(t, lasted(request), 3*time.Second)
		for _, p := range s.histogram(metricRequestDuration) {
			assert.InDelta(t, lasted(request).Seconds(), p.Sum, 1e-9, "the metric is the span's duration")
		}
	}, fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}))
}

func TestServerIsThatOfTheBaseURL(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		for base, want := range map[string][2]string{
			"https://petstore.example.com/v1": {"petstore.example.com", "443"},
			"http://localhost/v1":             {"localhost", "80"},
			"https://[2001:db8::1]:8443/v1":   {"2001:db8::1", "8443"},
		} {
			s.list(s.clientOf(base, s.server.APIKey(), petstoreotel.New(s.opts...)))
			for _, span := range s.ended()[len(s.ended())-2:] {
				assert.Equal(t, want, [2]string{value(span, semconv.ServerAddressKey), value(span, semconv.ServerPortKey)})
			}
		}
	})
}
