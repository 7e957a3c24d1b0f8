package petstoreredis

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// waits collects the waits that a client reports.
type waits struct {
	mu    sync.Mutex
	begun []petstore.Wait
	done  int
}

func (w *waits) trace() petstore.Option {
	return petstore.WithTrace(&petstore.ClientTrace{
		WaitStart: func(_ context.Context, i petstore.Wait) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.begun = append(w.begun, i)
		},
		WaitDone: func(context.Context, petstore.Wait) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.done++
		},
	})
}

func TestLimiterAcquire_reportsWaits(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		r.setLatency(time.Millisecond)
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(5, 0)), fake.WithStrict())
		var seen waits
		l := newTestLimiter(t, r)
		client := server.Client(petstore.WithLimiter(l), petstore.WithMaxWait(time.Hour), seen.trace())
		list := func() {
			require.NoError(t, list(t, client))
		}
		for range 5 {
			list()
		}
		assert.Empty(t, seen.begun, "a command of Redis is not a wait for the rate limit")
		list()
		require.Len(t, seen.begun, 1)
		wait := seen.begun[0]
		assert.Equal(t, petstore.WaitMinute, wait.Reason)
		assert.Equal(t, 1, wait.Waiting)
		assert.WithinDuration(t, time.Now(), wait.Until, 2*time.Second)
		assert.Equal(t, 1, seen.done)

		r.down.Store(true)
		for range 7 { // the fallback's part is used up as well
			list()
		}
		assert.Greater(t, len(seen.begun), 1)
		assert.Len(t, seen.begun, seen.done)
	})
}

func TestLimiterAcquire_maxWait(t *testing.T) {
	t.Run("does not count the wait for a response", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *testRedis) {
			l := newTestLimiter(t, r)
			first := acquire(t, l)
			time.AfterFunc(time.Hour, func() {
				first.Release(respond(http.StatusOK, 60, 59, time.Now().Add(time.Minute).Truncate(time.Second)))
			})
			start := time.Now()
			p, err := l.Acquire(t.Context(), petstore.LimitRequest{})
			require.NoError(t, err)
			assert.Less(t, time.Since(start), 2*time.Second, "another one has gone ahead")
			p.Release(petstore.Observation{})
			elapse(2 * time.Hour)
		})
	})
	t.Run("counts the wait for a window", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *testRedis) {
			l, other := newTestLimiter(t, r), newTestLimiter(t, r)
			end := open(t, l, 60, 1)
			p := acquire(t, other) // it may come back unused, so that nothing is known
			time.AfterFunc(3*time.Second, func() {
				p.Release(respond(http.StatusOK, 60, 0, end))
			})
			start := time.Now()
			_, err := l.Acquire(t.Context(), petstore.LimitRequest{MaxWait: 5 * time.Second})
			require.ErrorIs(t, err, petstore.ErrRateLimited)
			assert.LessOrEqual(t, time.Since(start), 5*time.Second)
			elapse(time.Minute)
		})
	})
}

func TestLimiterReopen_tellsTheWholeFleet(t *testing.T) {
	for _, away := range []bool{false, true} {
		bubble(t, func(t *testing.T, r *testRedis) {
			server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(60, 0)))
			var limiters []*Limiter
			var clients []*petstore.Client
			for range 2 {
				limiters = append(limiters, newTestLimiter(t, r))
				clients = append(clients, server.Client(petstore.WithLimiter(limiters[len(clients)])))
			}
			server.BanKey(server.APIKey(), 24*time.Hour)
			for _, client := range clients {
				require.ErrorIs(t, list(t, client), petstore.ErrRateLimited)
				synctest.Wait()
			}
			server.BanKey(server.APIKey(), 0)
			elapse(time.Minute)
			r.down.Store(away)
			if away {
				require.ErrorIs(t, list(t, clients[0]), petstore.ErrRateLimited)
				synctest.Wait()
				require.True(t, limiters[0].Stats().Away)
			}
			limiters[0].Reopen("")
			require.NoError(t, list(t, clients[0]))
			r.down.Store(false)
			elapse(askEvery)
			_ = list(t, clients[0])
			elapse(askEvery)
			_ = list(t, clients[1]) // has Redis asked
			elapse(time.Second)
			require.NoError(t, list(t, clients[1]), "what one process has learned, the other knows")
			elapse(time.Minute)
		})
	}
}

func TestLimiterReopen_ofAUsedUpDay(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		a, b := newTestLimiter(t, r), newTestLimiter(t, r)
		end := time.Now().Add(20 * time.Hour).Truncate(time.Second)
		for _, n := range []int{1, 0} {
			acquire(t, a).Release(respond(http.StatusOK, 5, n, end))
			synctest.Wait()
		}
		assertRefused(t, a)
		b.Reopen("")
		p := acquire(t, b)
		p.Release(respond(http.StatusOK, 5000, 4990, end)) // the plan was raised
		synctest.Wait()
		assertRefused(t, a) // looks
		synctest.Wait()
		elapse(askEvery)
		_, _ = a.Acquire(t.Context(), petstore.LimitRequest{})
		elapse(time.Second)
		acquire(t, a)
	})
}
