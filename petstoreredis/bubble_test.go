package petstoreredis

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

// bubble runs a test in virtual time, with a Redis that takes no time to reply.
func bubble(t *testing.T, f func(t *testing.T, r *testRedis)) {
	t.Helper()
	r := newTestRedis(t)
	synctest.Test(t, func(t *testing.T) { f(t, r) })
}

// respond returns the observation of a request that was sent now and answered a little later, in a
// window that ends at end.
func respond(status, limit, remaining int, end time.Time) petstore.Observation {
	sent := time.Now()
	time.Sleep(10 * time.Millisecond)
	return petstore.Observation{
		Delivery: petstore.DeliveryAnswered,
		Sent:     sent, Received: time.Now(), StatusCode: status,
		RateLimit: petstore.RateLimit{Limit: limit, Remaining: remaining, Reset: end},
		Date:      time.Now().Truncate(time.Second),
	}
}

// reject has the next request get a 429, and waits until Redis knows it.
func reject(t *testing.T, l petstore.Limiter, end time.Time, retryAfter time.Duration) petstore.Observation {
	t.Helper()
	p := acquire(t, l)
	o := respond(http.StatusTooManyRequests, 100, 50, end)
	o.RetryAfter = retryAfter
	p.Release(o)
	synctest.Wait()
	return o
}

// list makes one call.
func list(t *testing.T, client *petstore.Client) error {
	t.Helper()
	_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	return err
}

// elapse lets time pass, and waits until all that has to happen in it has happened.
func elapse(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func acquire(t *testing.T, l petstore.Limiter) petstore.Permit {
	t.Helper()
	p, err := l.Acquire(t.Context(), petstore.LimitRequest{MaxWait: time.Minute})
	require.NoError(t, err)
	return p
}

// assertRefused checks that a call is not admitted at once. Without a limit that refuses it, it
// would wait for a response for as long as its context allows.
func assertRefused(t *testing.T, l petstore.Limiter) petstore.RateLimitError {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := l.Acquire(ctx, petstore.LimitRequest{})
	require.ErrorIs(t, err, petstore.ErrRateLimited)
	limited, ok := errors.AsType[*petstore.RateLimitError](err)
	require.True(t, ok)
	require.ErrorIs(t, err, petstore.ErrNotSent)
	return *limited
}

// open shows l a window of which so much is left, by two requests: the first goes ahead, and the
// second alone.
func open(t *testing.T, l petstore.Limiter, limit, remaining int) time.Time {
	t.Helper()
	end := time.Now().Truncate(time.Second).Add(time.Minute).UTC()
	for _, n := range []int{remaining + 1, remaining} {
		acquire(t, l).Release(respond(http.StatusOK, limit, n, end))
		synctest.Wait()
	}
	return end
}

const resetGrain = time.Second

// pretend makes a limiter silent, as if its process had been stopped, or lets it go on.
func (l *Limiter) pretend(stopped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = stopped
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
