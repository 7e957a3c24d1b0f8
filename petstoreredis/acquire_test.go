package petstoreredis

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestLimiterAcquire_oneRequestGoesAheadForTheFleet(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		a, b := newTestLimiter(t, r), newTestLimiter(t, r)
		first := acquire(t, a)
		assertRefused(t, a)
		assertRefused(t, b)
		first.Release(respond(http.StatusOK, 60, 59, time.Now().Add(time.Minute).Truncate(time.Second).UTC()))
		synctest.Wait()
		acquire(t, b)
		assert.Equal(t, 59, b.RateLimit("").Remaining, "known from Redis, not from a response of its own")
		assert.Equal(t, b.RateLimit(""), a.RateLimit(""))
	})
}

func TestLimiterAcquire_closureHoldsForTheFleetAndOneRequestEndsIt(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		a, b := newTestLimiter(t, r), newTestLimiter(t, r)
		end := open(t, a, 100, 98)
		rejected := reject(t, a, end, 20*time.Second)
		opens := rejected.Received.Add(rejected.RetryAfter)
		limited := assertRefused(t, b)
		assert.WithinDuration(t, opens, limited.RetryAt, 20*time.Millisecond)
		var first []petstore.Permit
		for range 2 {
			p := acquire(t, b)
			assert.False(t, time.Now().Before(opens))
			first = append(first, p)
			assertRefused(t, a)
			assertRefused(t, b)
			if len(first) == 1 {
				p.Release(petstore.Observation{}) // never left: another may go
			}
		}
		first[1].Release(respond(http.StatusOK, 100, 40, end))
		synctest.Wait()
		acquire(t, a)
		acquire(t, b)
	})
}

func TestLimiterAcquire_longClosureFailsAtOnceAndAsksRedisNowAndThen(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(100, 5)))
		limiters := []*Limiter{newTestLimiter(t, r), newTestLimiter(t, r)}
		var clients []*petstore.Client
		for _, l := range limiters {
			clients = append(clients, server.Client(petstore.WithLimiter(l)))
		}
		for i := range 5 {
			require.NoError(t, list(t, clients[i%2]))
		}
		elapse(time.Second)
		for _, client := range clients {
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			limited, ok := errors.AsType[*petstore.RateLimitError](err)
			require.True(t, ok, "%v", err)
			assert.Equal(t, petstore.ScopeDay, limited.Scope)
			assert.WithinDuration(t, time.Now().Add(24*time.Hour), limited.RetryAt, 10*time.Second)
		}
		for range 100 {
			for _, client := range clients {
				start := time.Now()
				require.ErrorIs(t, list(t, client), petstore.ErrRateLimited)
				assert.Zero(t, time.Since(start))
			}
			elapse(time.Minute)
		}
		for _, l := range limiters {
			assert.LessOrEqual(t, l.Stats().RoundTrips, 107, "each looks now and then, and for its calls before")
		}
		server.AssertRequests(t, "", 5)
	})
}

func TestLimiterAcquire_waitBehindOtherProcessesFailsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		a, b, c := newTestLimiter(t, r), newTestLimiter(t, r), newTestLimiter(t, r)
		end := open(t, a, 60, 1)
		p := acquire(t, a)
		go func() { _, _ = b.Acquire(t.Context(), petstore.LimitRequest{MaxWait: time.Minute}) }()
		elapse(10 * time.Millisecond)
		start := time.Now()
		_, err := c.Acquire(t.Context(), petstore.LimitRequest{MaxWait: 10 * time.Second})
		limited, ok := errors.AsType[*petstore.RateLimitError](err)
		require.True(t, ok, "%v", err)
		assert.WithinDuration(t, end, limited.RetryAt, 2*resetGrain)
		assert.Equal(t, petstore.ScopeMinute, limited.Scope)
		assert.Equal(t, 1, limited.RateLimit.Remaining, "as the service says")
		assert.Zero(t, time.Since(start))
		p.Release(petstore.Observation{})
		elapse(holdFor + time.Second)
		assert.Equal(t, 1, b.inFlight, "the one that has waited for longer has got what came back")
		elapse(2 * time.Minute)
	})
}

func TestLimiterAcquire_contextEndsWhileWaiting(t *testing.T) {
	for _, away := range []bool{false, true} {
		bubble(t, func(t *testing.T, r *testRedis) {
			l := newTestLimiter(t, r)
			r.down.Store(away)
			acquire(t, l) // the next one waits for its response
			cause := errors.New("no longer wanted")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second/2, func() { cancel(cause) })
			start := time.Now()
			_, err := l.Acquire(ctx, petstore.LimitRequest{MaxWait: time.Hour})
			assert.Equal(t, time.Second/2, time.Since(start))
			require.ErrorIs(t, err, petstore.ErrRateLimited)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, cause)
			assert.NotContains(t, err.Error(), "\n")
			_, err = l.Acquire(ctx, petstore.LimitRequest{MaxWait: time.Hour})
			require.ErrorIs(t, err, cause)
			assert.Zero(t, l.calls.Len())
		})
	}
}

func TestLimiterAcquire_retriedCallGoesBeforeNewOnes(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(10, 0)))
		client := server.Client(petstore.WithLimiter(newTestLimiter(t, r)), petstore.WithMaxWait(time.Hour))
		server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Status: http.StatusTooManyRequests, RetryAfter: "5"})
		call := func(f func() error) {
			go func() { assert.NoError(t, f()) }()
			synctest.Wait()
		}
		call(func() error {
			_, err := client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
			return err
		})
		for range 3 {
			call(func() error {
				_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
				return err
			})
		}
		elapse(time.Minute)
		var order []string
		for _, r := range server.Requests() {
			order = append(order, r.Operation)
		}
		list, create := petstore.OpListPets, petstore.OpCreatePet
		assert.Equal(t, []string{create, create, list, list, list}, order)
	})
}
