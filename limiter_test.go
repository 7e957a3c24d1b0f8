package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

// spent returns the outcome of a request that took no time.
func spent(status, remaining int, reset time.Duration) petstore.Observation {
	now := time.Now()
	return petstore.Observation{
		Delivery: petstore.DeliveryAnswered, Sent: now, Received: now, StatusCode: status, Date: now.Truncate(time.Second),
		RateLimit: petstore.RateLimit{Limit: 1000, Remaining: remaining, Reset: now.Add(reset)},
	}
}

func TestLimiterAllocations(t *testing.T) {
	l := petstore.NewLimiter()
	var allocations float64
	measures := limiterFunc(func(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
		o := spent(200, 999, time.Hour)
		allocations = testing.AllocsPerRun(1000, func() {
			p, err := l.Acquire(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			p.Release(o)
		})
		return new(permits), nil
	})
	client, _ := scripted(t, []responder{success("listPets")}, petstore.WithLimiter(measures))
	require.NoError(t, list(client))
	assert.LessOrEqual(t, allocations, 2.0)
}

func TestLimiterErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("shutting down")
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		soon := func() context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			t.Cleanup(cancel)
			return ctx
		}
		l := petstore.NewLimiter()
		check := func(ctx context.Context, target error, text string) *petstore.RateLimitError {
			t.Helper()
			_, err := l.Acquire(ctx, petstore.LimitRequest{MaxWait: time.Minute})
			require.ErrorIs(t, err, petstore.ErrRateLimited)
			require.ErrorIs(t, err, target)
			assert.ErrorContains(t, err, text)
			limited, _ := errors.AsType[*petstore.RateLimitError](err)
			require.ErrorIs(t, err, petstore.ErrNotSent)
			return limited
		}
		_ = check(ended, context.Canceled, "before the request was sent: context canceled: shutting down")
		_ = check(ended, why, "")
		first, err := l.Acquire(t.Context(), petstore.LimitRequest{})
		require.NoError(t, err)
		e := check(soon(), context.DeadlineExceeded, "while waiting for a response, with 1 in flight: ")
		assert.Zero(t, e.RetryAt)
		first.Release(spent(200, 999, time.Minute))
		inFlight := 0
		var p petstore.Permit
		for err == nil {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if next, refused := l.Acquire(ctx, petstore.LimitRequest{MaxWait: time.Minute}); refused == nil {
				p = next
				inFlight++
			} else {
				err = refused
			}
			cancel()
		}
		require.ErrorContains(t, err, fmt.Sprintf("with %d in flight and %d left", inFlight, 999-inFlight))
		p.Release(spent(429, 0, time.Hour))
		e = check(t.Context(), petstore.ErrRateLimited, "(day)")
		assert.Equal(t, petstore.ScopeDay, e.Scope)
	})
}
