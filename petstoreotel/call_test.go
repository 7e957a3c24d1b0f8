package petstoreotel_test

import (
	"context"
	"log/slog"
	"net/http"
	"reflect"
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
		first, second, call := spans[0], spans[1], spans[2]

		assert.Equal(t, "createPet", call.Name())
		assert.Equal(t, trace.SpanKindInternal, call.SpanKind())
		assert.False(t, call.Parent().IsValid())
		assert.Equal(t, codes.Unset, call.Status().Code)
		assert.Equal(t, attribute.NewSet(
			petstoreotel.AttributeOperation.String("createPet"), semconv.HTTPRequestMethodPost,
			semconv.URLTemplate("/v1/pets"), semconv.ServerAddress("service.test"), semconv.ServerPort(443),
			semconv.HTTPResponseStatusCode(201), attributeAttempts.Int(2)),
			without(set(call), attributeCallID))
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
	}, fake.WithLatency(200*time.Millisecond))
}

// TestCallSpanHasWhatErrorsAndTracesSay holds that each field of an error, a call and a request is
// an attribute of the call's span, unless there is a reason. TestLogValueFields of the root compares
// the same fields with the log.
func TestCallSpanHasWhatErrorsAndTracesSay(t *testing.T) {
	attributes := map[string]attribute.Key{
		"Operation": petstoreotel.AttributeOperation, "ID": attributeCallID, "BaseURL": semconv.ServerAddressKey,
		"Method": semconv.HTTPRequestMethodKey, "Template": semconv.URLTemplateKey, "StatusCode": semconv.HTTPResponseStatusCodeKey,
		"Attempt": attributeAttempts, "Attempts": attributeAttempts,
		"Err": semconv.ErrorTypeKey, "Sent": petstoreotel.AttributeOutcomeUnknown,
	}
	leftOut := map[string]string{
		"Code": "may have anything", "Message": "may have anything", "Reason": "may have anything",
		"Body": "may have anything", "Header": "may have anything",
		"RetryAfter": "is an event of the wait", "RetryAt": "is a metric", "RateLimit": "is a metric", "Scope": "is a metric",
		"Waited": "are the events of waits", "Duration": "is the span",
		"KeyID": "is of this process only", "KeyRefused": "is the status of the request", "Background": "is the reason of a wait",
	}
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Status: 503})
		_, err := s.client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex"})
		require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
		span := s.ended()[1]
		for _, of := range []reflect.Type{
			reflect.TypeFor[petstore.Call](), reflect.TypeFor[petstore.AttemptDoneInfo](), reflect.TypeFor[petstore.APIError](),
			reflect.TypeFor[petstore.RateLimitError](), reflect.TypeFor[petstore.ResponseError](), reflect.TypeFor[petstore.TransportError](),
		} {
			for _, field := range reflect.VisibleFields(of) {
				if field.IsExported() && !field.Anonymous && field.Name != "Call" && leftOut[field.Name] == "" {
					assert.NotEmpty(t, value(span, attributes[field.Name]), "the span lacks %v.%s", of, field.Name)
				}
			}
		}
	})
}

func TestCallSpanHasTheCallIDOfTheLog(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		_, err := s.newClient(s.base(), petstore.WithLogger(logger)).ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		id := value(s.ended()[1], attributeCallID)
		require.NotEmpty(t, id)
		assert.Contains(t, log.String(), "call_id="+id+" ")
	})
}

func TestCallSpanIsPartOfTheCallersTrace(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
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

func TestSpanThatIsNotSampledIsPropagatedAndRecordsNothing(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.opts = append(s.opts, petstoreotel.WithTracerProvider(sdktrace.NewTracerProvider(
			sdktrace.WithSpanProcessor(s.spans), sdktrace.WithSampler(sdktrace.NeverSample()))))
		s.client = s.newClient(s.base())
		s.list(s.client)

		assert.Empty(t, s.spans.Started())
		assert.Regexp(t, "^00-[0-9a-f]{32}-[0-9a-f]{16}-00$", s.server.Requests()[0].Header.Get("Traceparent"))
		assert.Len(t, s.durations(), 1, "metrics are not sampled")
	})
}

func TestRequestSpanOfARequestForAKey(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
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

func TestNewKeepsManyCallsApart(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
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
			assert.Equal(t, "petstore.wait", events[i].Name)
			attributes := attribute.NewSet(events[i].Attributes...)
			got, _ := attributes.Value(petstoreotel.AttributeWaitReason)
			assert.Equal(t, reason, got.String())
			calls, _ := attributes.Value("petstore.wait.waiting_calls")
			assert.EqualValues(t, 1, calls.AsInt64())
			length, _ := attributes.Value(petstoreotel.AttributeWaitDuration)
			next := spans[i+1].StartTime()
			assert.InDelta(t, next.Sub(events[i].Time).Seconds(), length.AsFloat64(), 1e-6, "until the next request")
		}
		assert.Equal(t, begun, events[0].Time)
	})
}

func TestWaitsGivenUp(t *testing.T) {
	at := []attribute.KeyValue{semconv.ServerAddress("service.test"), semconv.ServerPort(443)}
	givenUp := func(reason, errorType string) attribute.Set {
		return attribute.NewSet(append(at, petstoreotel.AttributeWaitReason.String(reason),
			semconv.ErrorTypeKey.String(errorType))...)
	}
	for name, c := range map[string]struct {
		faults []fake.Fault
		opts   []petstore.CallOption
		ended  time.Duration // how long after its start the caller's context ends
		want   map[attribute.Set]int64
	}{
		"not begun": {
			faults: []fake.Fault{{Status: 429, RetryAfter: "30"}}, opts: []petstore.CallOption{petstore.WithMaxWait(time.Second)},
			want: map[attribute.Set]int64{givenUp("minute", "429"): 1},
		},
		"ended with the caller's context": {
			faults: []fake.Fault{{Status: 429, RetryAfter: "30"}}, ended: time.Second,
			want: map[attribute.Set]int64{givenUp("minute", "canceled"): 1},
		},
		"of the backoff": {
			faults: []fake.Fault{{Status: 503}}, ended: time.Millisecond,
			want: map[attribute.Set]int64{givenUp("backoff", "canceled"): 1},
		},
		"of the backoff, after one for the limit": {
			faults: []fake.Fault{{Status: 429, RetryAfter: "3"}, {Status: 503}}, ended: 3*time.Second + time.Millisecond,
			want: map[attribute.Set]int64{givenUp("backoff", "canceled"): 1},
		},
		"none: the last attempt failed": {
			faults: []fake.Fault{{Status: 400}}, want: map[attribute.Set]int64{},
		},
		"none: ended on the wire": {
			faults: []fake.Fault{{Wire: fake.WireStall}}, ended: time.Second, want: map[attribute.Set]int64{},
		},
		"none: ended on the wire, after a wait": {
			faults: []fake.Fault{{Status: 503}, {Wire: fake.WireStall}}, ended: 5 * time.Second, want: map[attribute.Set]int64{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recorded(t, func(t *testing.T, s *harness) {
				for _, fault := range c.faults {
					s.server.Inject(fault)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.ended > 0 {
					time.AfterFunc(c.ended, cancel)
				}
				_, err := s.client.ListPets(ctx, petstore.ListPetsParams{}, append(c.opts,
					petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 100 * time.Millisecond}))...)
				require.Error(t, err)
				assert.Equal(t, c.want, integers(s.metric(metricWaitsGivenUp)))
			})
		})
	}
}

func TestWaitTimeIsThatOfTheLimitOnly(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Status: 503, Header: http.Header{"X-RateLimit-Remaining": {"0"}}})
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{}, petstore.WithRetryPolicy(
			petstore.RetryPolicy{BaseDelay: 8 * time.Second, MaxDelay: 8 * time.Second}))
		require.NoError(t, err)
		assert.Len(t, s.ended()[2].Events(), 2, "the backoff, and the rest of the minute after it")
		waits := s.waits()
		require.Len(t, waits, 2)
		assert.EqualValues(t, 1, waits["minute"].Count)
		assert.InDelta(t, 55, waits["minute"].Sum, 5)
		assert.EqualValues(t, 1, waits[""].Count, "the first request went at once")
		assert.Zero(t, waits[""].Sum)
	})
}

// silent is a limiter that does not report its waits.
type silent struct{ petstore.Limiter }

func (s silent) Acquire(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
	time.Sleep(3 * time.Second)
	return s.Limiter.Acquire(ctx, r)
}

func TestWaitTimeCountsWhatALimiterDoesNotReport(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		client := s.newClient(s.base(), petstore.WithLimiter(silent{petstore.NewLimiter()}))
		s.list(client)
		assert.InDelta(t, 3, s.waits()[""].Sum, 1e-9)
	})
}
