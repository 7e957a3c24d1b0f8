package petstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLimiterQueue(t *testing.T) {
	t.Run("admits calls in the order of their arrival", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newService(20)
			l := NewLimiter()
			admitted := make([]time.Time, 90)
			var all sync.WaitGroup
			for i := range admitted {
				all.Go(func() {
					p, err := l.Acquire(t.Context(), time.Hour)
					if assert.NoError(t, err) {
						admitted[i] = time.Now()
						p.Release(carry(s, rand.New(rand.NewPCG(2, uint64(i)))))
					}
				})
				synctest.Wait()
			}
			all.Wait()
			for i := range admitted[1:] {
				assert.False(t, admitted[i+1].Before(admitted[i]), "%d was before %d", i+1, i)
			}
			assert.Greater(t, admitted[89].Sub(admitted[0]), 4*time.Minute-time.Second)
			assert.Zero(t, s.Rejected())
		})
	})
	t.Run("a retried call keeps its place", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter()
			first := callIn(t.Context())
			p, err := l.Acquire(first, 0)
			require.NoError(t, err)
			var mu sync.Mutex
			var order []string
			for _, name := range []string{"second", "third"} {
				go func() {
					p, err := l.Acquire(t.Context(), time.Hour)
					assert.NoError(t, err)
					mu.Lock()
					order = append(order, name)
					mu.Unlock()
					p.Release(ok(60, 50, time.Minute))
				}()
				synctest.Wait()
			}
			p.Release(tooMany(60, 5, time.Minute, 2*time.Second))
			p, err = l.Acquire(first, time.Hour)
			require.NoError(t, err)
			assert.Empty(t, order, "calls that came later wait")
			p.Release(ok(60, 51, time.Minute))
			synctest.Wait()
			assert.ElementsMatch(t, []string{"second", "third"}, order)
		})
	})
	t.Run("reports to each call what it waits for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter().(*limiter)
			start := time.Now()
			var told []Wait
			ask := func(maxWait time.Duration) {
				ctx := callIn(t.Context(), &ClientTrace{WaitStart: func(_ context.Context, info WaitStartInfo) {
					if assert.True(t, l.mu.TryLock(), "it is called without the lock") {
						l.mu.Unlock()
					}
					told = append(told, info.Wait)
				}})
				if p, err := l.Acquire(ctx, maxWait); err == nil {
					p.Release(Observation{})
				}
			}
			p, err := l.Acquire(t.Context(), 0)
			require.NoError(t, err)
			ask(time.Second)
			p.Release(ok(60, 0, 30*time.Second))
			ask(time.Minute)
			one(t, l, tooMany(60, 0, 30*time.Second, 10*time.Minute))
			ask(time.Hour)
			assert.Equal(t, []Wait{
				{Reason: WaitResponse, Waiting: 1},
				{Reason: WaitReason(ScopeMinute), Until: start.Add(32 * time.Second), Waiting: 1},
				{Reason: WaitReason(ScopeBan), Until: start.Add(32*time.Second + 10*time.Minute), Waiting: 1},
			}, told)
		})
	})
	t.Run("a panic in a trace loses no permit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter().(*limiter)
			p, err := l.Acquire(t.Context(), 0)
			require.NoError(t, err)
			ctx := callIn(t.Context(), &ClientTrace{WaitStart: func(context.Context, WaitStartInfo) { panic("logger") }})
			assert.Panics(t, func() { _, _ = l.Acquire(ctx, time.Minute) })
			p.Release(ok(60, 59, time.Minute))
			assertAtRest(t, l)
		})
	})
	t.Run("has no timer while no call waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter().(*limiter)
			ctx, cancel := context.WithCancel(t.Context())
			one(t, l, ok(60, 0, 30*time.Second))
			assertAtRest(t, l)
			go func() { _, _ = l.Acquire(ctx, time.Hour) }()
			synctest.Wait()
			l.mu.Lock()
			assert.NotNil(t, l.queue("", time.Now()).timer)
			l.mu.Unlock()
			cancel()
			synctest.Wait()
			assertAtRest(t, l)
		})
	})
}

func TestLimiterContext(t *testing.T) {
	t.Run("admits nothing once it has ended", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter().(*limiter)
			why := errors.New("shutting down")
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(why)
			_, err := l.Acquire(ctx, time.Hour)
			_ = refused(t, err)
			assert.ErrorIs(t, err, context.Canceled)
			assert.ErrorIs(t, err, why)

			// The permit and the deadline come at the same time. The call must always fail.
			one(t, l, ok(60, 0, 10*time.Second))
			for range 50 {
				ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(11*time.Second))
				_, err := l.Acquire(ctx, time.Hour)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				cancel()
				one(t, l, ok(60, 0, 10*time.Second))
			}
			assertAtRest(t, l)
		})
	})
	t.Run("random cancels leak nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newService(60)
			l := NewLimiter().(*limiter)
			var all sync.WaitGroup
			for g := range 300 {
				rng := rand.New(rand.NewPCG(4, uint64(g)))
				all.Go(func() {
					for range 5 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.Int64N(int64(40*time.Second))))
						ctx, stop := context.WithCancel(ctx)
						time.AfterFunc(time.Duration(rng.Int64N(int64(40*time.Second))), stop)
						p, err := l.Acquire(ctx, time.Duration(rng.Int64N(int64(time.Minute))))
						if err == nil {
							p.Release(carryLossy(s, rng))
						}
						cancel()
						stop()
					}
				})
			}
			all.Wait()
			assert.Zero(t, s.Rejected())
			assertAtRest(t, l)
		})
	})
	t.Run("10,000 cancelled waits leave nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter().(*limiter)
			one(t, l, ok(10, 0, time.Minute))
			ctx, cancel := context.WithCancel(t.Context())
			var waits sync.WaitGroup
			for range 10_000 {
				waits.Go(func() {
					_, err := l.Acquire(ctx, time.Hour*24)
					assert.ErrorIs(t, err, context.Canceled)
				})
			}
			synctest.Wait()
			assert.Equal(t, 10_000, l.queue("", time.Now()).len())
			cancel()
			waits.Wait()
			assertAtRest(t, l)
		}) // synctest.Test fails if a goroutine is left
	})
}

func TestLimiterSecondRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter().(*limiter)
		p, err := l.Acquire(t.Context(), 0)
		require.NoError(t, err)
		p.Release(ok(60, 59, time.Minute))
		p.Release(tooMany(60, 0, time.Minute, time.Hour))
		p.Release(Observation{})
		assertAtRest(t, l)
		one(t, l, ok(60, 58, time.Minute))
	})
}

func TestLimiterInSeveralBubbles(t *testing.T) {
	l := NewLimiter()
	one(t, l, ok(60, 0, time.Minute))
	for range 3 { // the time in each bubble begins in the year 2000
		synctest.Test(t, func(t *testing.T) {
			s := newService(60)
			rng := rand.New(rand.NewPCG(5, 5))
			for range 150 {
				assert.True(t, ask(l, s, rng))
			}
			assert.Zero(t, s.Rejected())
			assert.Less(t, time.Since(s.Arrivals()[0]), 3*time.Minute)
			p, err := l.Acquire(t.Context(), time.Hour)
			require.NoError(t, err)
			defer p.Release(Observation{})
		})
	}
	one(t, l, ok(60, 59, time.Minute))
}
