package petstoreotel_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestWaitIsAnEventOnTheSpanOfTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		begun := time.Now()
		s.server.Inject(fake.Fault{Status: 429, RetryAfter: "40"})
		s.server.Inject(fake.Fault{Status: 503})
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)

		spans := s.ended()
		require.Len(t, spans, 4)
		events := spans[3].Events()
		require.Len(t, events, 2)
		for i, reason := range []string{"minute", "backoff"} {
			assert.Equal(t, petstoreotel.EventWait, events[i].Name)
			attributes := attribute.NewSet(events[i].Attributes...)
			got, _ := attributes.Value(petstoreotel.AttributeWaitReason)
			assert.Equal(t, reason, got.String())
			calls, _ := attributes.Value(petstoreotel.AttributeWaitingCalls)
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
		ended  time.Duration // of the caller's context
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
			synctest.Test(t, func(t *testing.T) {
				s := newHarness(t)
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
				assert.Equal(t, c.want, integers(s.metric(petstoreotel.MetricWaitsGivenUp)))
			})
		})
	}
}

func TestWaitTimeIsThatOfTheLimitOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		s.server.Inject(fake.Fault{Status: 503, Header: http.Header{"X-RateLimit-Remaining": {"0"}}})
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{}, petstore.WithRetryPolicy(
			petstore.RetryPolicy{BaseDelay: 8 * time.Second, MaxDelay: 8 * time.Second}))
		require.NoError(t, err)
		reasons := make(map[string]bool)
		for _, event := range s.ended()[2].Events() {
			attributes := attribute.NewSet(event.Attributes...)
			reason, _ := attributes.Value(petstoreotel.AttributeWaitReason)
			reasons[reason.String()] = true
		}
		assert.Equal(t, map[string]bool{"backoff": true, "minute": true}, reasons)
		minute := s.waits()["minute"]
		assert.EqualValues(t, 1, minute.Count)
		assert.InDelta(t, 55, minute.Sum, 5, "the rest of the minute after the backoff")
	})
}

// silent is a limiter that does not report its waits.
type silent struct{ petstore.Limiter }

func (s silent) Acquire(ctx context.Context, maxWait time.Duration) (petstore.Permit, error) {
	time.Sleep(3 * time.Second)
	return s.Limiter.Acquire(ctx, maxWait)
}

func TestWaitTimeCountsWhatALimiterDoesNotReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		client := s.newClient(s.base(), petstore.WithLimiter(silent{petstore.NewLimiter()}))
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.InDelta(t, 3, s.waits()[""].Sum, 1e-9)
	})
}
