package queue

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/quota"
)

func TestLimiterGate(t *testing.T) {
	t.Run("one request goes ahead after a 429, then the others", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			one(t, l, tooMany(60, 12, 7*time.Second, 20*time.Second))
			var admitted atomic.Int64
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					p, refused := acquire(t.Context(), l, time.Hour)
					if assert.Nil(t, refused) {
						n := admitted.Add(1)
						time.Sleep(50 * time.Millisecond)
						p.Release(ok(60, 60-int(n), time.Minute))
					}
				})
			}
			time.Sleep(20*time.Second - time.Nanosecond)
			assert.Zero(t, admitted.Load(), "inside the closed window")
			time.Sleep(49 * time.Millisecond)
			assert.EqualValues(t, 1, admitted.Load(), "one request, which has no response yet")
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			assert.EqualValues(t, 50, admitted.Load(), "then the others")
			all.Wait()
		})
	})
	t.Run("waiters are refused when a lockout is too long", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			p, refused := acquire(t.Context(), l, 0)
			require.Nil(t, refused)
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					_, refused := acquire(t.Context(), l, time.Minute)
					assert.True(t, refused != nil && refused.Scope == quota.Ban)
				})
			}
			synctest.Wait()
			start := time.Now()
			p.Release(tooMany(60, 0, 10*time.Second, 5*time.Minute))
			all.Wait()
			assert.Equal(t, start, time.Now(), "no time has passed")
			assertAtRest(t, l)
		})
	})
}

// maxWait limits the waits for a window or a closed gate, but not those for a response.
func TestLimiterMaxWait(t *testing.T) {
	t.Run("0 waits for the response to the first request", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			p, refused := acquire(t.Context(), l, 0)
			require.Nil(t, refused)
			time.AfterFunc(300*time.Millisecond, func() { p.Release(ok(60, 59, time.Minute)) })
			start := time.Now()
			one(t, l, ok(60, 58, time.Minute))
			assert.Equal(t, 300*time.Millisecond, time.Since(start))
			assertAtRest(t, l)
		})
	})
	t.Run("0 fails immediately if the window is used up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			start := time.Now()
			one(t, l, ok(60, 0, 30*time.Second))
			for _, maxWait := range []time.Duration{0, -time.Second} {
				_, refused := acquire(t.Context(), l, maxWait)
				require.NotNil(t, refused)
				assert.Equal(t, start.Add(31*time.Second), refused.RetryAt)
				assert.Equal(t, quota.Minute, refused.Scope)
			}
			assert.Equal(t, start, time.Now())
		})
	})
	t.Run("0 fails as soon as the response shows that the window is used up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			p, refused := acquire(t.Context(), l, 0)
			require.Nil(t, refused)
			time.AfterFunc(300*time.Millisecond, func() { p.Release(ok(60, 0, time.Minute)) })
			start := time.Now()
			_, refused = acquire(t.Context(), l, 0)
			assert.True(t, refused.RetryAt.After(time.Now()))
			assert.Equal(t, 300*time.Millisecond, time.Since(start))
			assertAtRest(t, l)
		})
	})
	t.Run("only the wait for the window counts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			p, refused := acquire(t.Context(), l, 0)
			require.Nil(t, refused)
			time.AfterFunc(700*time.Millisecond, func() { p.Release(ok(60, 0, 30*time.Second)) })
			var free time.Duration
			p, refused = report(t.Context(), l, 32*time.Second, func(Wait) func(time.Duration) {
				return func(d time.Duration) { free = d }
			})
			require.Nil(t, refused)
			assert.Equal(t, 700*time.Millisecond, free, "reported as not counted")
			p.Release(ok(60, 59, time.Minute))
		})
	})
}

func TestLimiterWaitTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		one(t, l, ok(60, 0, 40*time.Second))
		start := time.Now()

		_, refused := acquire(t.Context(), l, 39*time.Second)
		require.NotNil(t, refused)
		assert.Equal(t, quota.Minute, refused.Scope)
		assert.Equal(t, start.Add(41*time.Second), refused.RetryAt)
		assert.Equal(t, 60, refused.RateLimit.Limit)

		ctx, cancel := context.WithTimeout(t.Context(), 39*time.Second)
		defer cancel()
		_, refused = acquire(ctx, l, time.Hour)
		require.NotNil(t, refused)
		assert.False(t, refused.Ended)

		// The next window is for the calls in the queue; the one after that begins a minute later.
		leave, stop := context.WithTimeout(t.Context(), time.Hour)
		for range 60 {
			go func() { _, _ = acquire(leave, l, time.Hour) }()
		}
		synctest.Wait()
		_, refused = acquire(t.Context(), l, 99*time.Second)
		require.NotNil(t, refused)
		assert.Equal(t, start.Add(101*time.Second), refused.RetryAt)
		_, refused = l.Acquire(leave, Call{Background: true, MaxWait: 99 * time.Second})
		require.NotNil(t, refused, "also in the background")
		assert.Equal(t, start, time.Now(), "no time has passed")
		stop()
		synctest.Wait()
		assertAtRest(t, l)
	})
	t.Run("also behind a call that reports its wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			one(t, l, ok(1, 0, 40*time.Second))
			reported := make(chan struct{})
			var first sync.WaitGroup
			first.Go(func() {
				p, refused := report(t.Context(), l, time.Minute, func(Wait) func(time.Duration) {
					<-reported
					return func(time.Duration) {}
				})
				if assert.Nil(t, refused) {
					p.Release(ok(1, 0, time.Minute))
				}
			})
			synctest.Wait()
			start := time.Now()
			time.AfterFunc(time.Second, func() { close(reported) })
			_, refused := acquire(t.Context(), l, time.Minute)
			assert.NotNil(t, refused)
			assert.Equal(t, start, time.Now(), "no time has passed")
			first.Wait()
		})
	})
	t.Run("also if a call that asked before comes late", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			one(t, l, ok(1, 0, 40*time.Second))
			early := Call{Asked: time.Now(), MaxWait: time.Minute}
			time.Sleep(time.Millisecond)
			start := time.Now()
			var both sync.WaitGroup
			both.Go(func() {
				_, refused := acquire(t.Context(), l, time.Minute)
				assert.NotNil(t, refused)
				assert.Equal(t, start, time.Now(), "no time has passed")
			})
			synctest.Wait()
			p, refused := l.Acquire(t.Context(), early)
			require.Nil(t, refused)
			p.Release(ok(1, 0, time.Minute))
			both.Wait()
		})
	})
}
