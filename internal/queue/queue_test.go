package queue

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/quota"
)

func TestLimiterQueue(t *testing.T) {
	t.Run("admits calls in the order of their arrival", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newService(20)
			l := newLimiter()
			admitted := make([]time.Time, 90)
			var all sync.WaitGroup
			for i := range admitted {
				all.Go(func() {
					p, refused := acquire(t.Context(), l, time.Hour)
					if assert.Nil(t, refused) {
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
			l := newLimiter()
			first := Call{Asked: time.Now(), MaxWait: time.Hour}
			p, refused := l.Acquire(t.Context(), first)
			require.Nil(t, refused)
			time.Sleep(time.Millisecond)
			var mu sync.Mutex
			var order []string
			for _, name := range []string{"second", "third"} {
				go func() {
					p, refused := acquire(t.Context(), l, time.Hour)
					assert.Nil(t, refused)
					mu.Lock()
					order = append(order, name)
					mu.Unlock()
					p.Release(ok(60, 50, time.Minute))
				}()
				synctest.Wait()
			}
			p.Release(tooMany(60, 5, time.Minute, 2*time.Second))
			p, refused = l.Acquire(t.Context(), first)
			require.Nil(t, refused)
			assert.Empty(t, order, "calls that came later wait")
			p.Release(ok(60, 51, time.Minute))
			synctest.Wait()
			assert.ElementsMatch(t, []string{"second", "third"}, order)
		})
	})
	t.Run("reports to each call what it waits for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var told []Wait
			l := NewLimiter(quota.Budget{})
			tell := func(w Wait) func(time.Duration) {
				l.RateLimit("") // would wait for ever if the lock were held
				told = append(told, w)
				return func(time.Duration) {}
			}
			start := time.Now()
			ask := func(maxWait time.Duration) {
				if p, refused := report(t.Context(), l, maxWait, tell); refused == nil {
					p.Release(&quota.Observation{})
				}
			}
			p, refused := acquire(t.Context(), l, 0)
			require.Nil(t, refused)
			ask(time.Second)
			p.Release(ok(60, 0, 30*time.Second))
			ask(time.Minute)
			one(t, l, tooMany(60, 0, 30*time.Second, 10*time.Minute))
			ask(time.Hour)
			assert.Equal(t, []Wait{
				{Reason: quota.ForResponse, Waiting: 1},
				{Reason: quota.Reason(quota.Minute), Until: start.Add(32 * time.Second), Waiting: 1},
				{Reason: quota.Reason(quota.Ban), Until: start.Add(32*time.Second + 10*time.Minute), Waiting: 1},
			}, told)
		})
	})
	for name, panics := range map[string]reporter{
		"start": func(Wait) func(time.Duration) { panic("logger") },
		"end":   func(Wait) func(time.Duration) { return func(time.Duration) { panic("logger") } },
	} {
		t.Run("a panic of the user at the "+name+" of a wait loses no permit", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter()
				p, refused := acquire(t.Context(), l, 0)
				require.Nil(t, refused)
				time.AfterFunc(time.Millisecond, func() { p.Release(ok(60, 59, time.Minute)) })
				assert.Panics(t, func() { _, _ = report(t.Context(), l, time.Minute, panics) })
				time.Sleep(time.Millisecond)
				assertAtRest(t, l)
			})
		})
	}
	t.Run("a function of the user may make a call that waits for the response to this one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l, nested := NewLimiter(quota.Budget{}), false
			call := func(Wait) func(time.Duration) {
				if !nested {
					nested = true
					one(t, l, ok(60, 58, time.Minute))
				}
				return func(time.Duration) {}
			}
			p, refused := acquire(t.Context(), l, 0)
			require.Nil(t, refused)
			time.AfterFunc(time.Millisecond, func() { p.Release(ok(60, 59, time.Minute)) })
			p, refused = report(t.Context(), l, 0, call)
			require.Nil(t, refused)
			p.Release(ok(60, 57, time.Minute))
			assert.True(t, nested)
			assertAtRest(t, l)
		})
	})
	t.Run("has no timer while no call waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			ctx, cancel := context.WithCancel(t.Context())
			one(t, l, ok(60, 0, 30*time.Second))
			assertAtRest(t, l)
			go func() { _, _ = acquire(ctx, l, time.Hour) }()
			synctest.Wait()
			assert.NotNil(t, l.last.timer)
			cancel()
			synctest.Wait()
			assertAtRest(t, l)
		})
	})
}

func TestLimiterContext(t *testing.T) {
	t.Run("admits nothing once it has ended", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, refused := acquire(ctx, l, time.Hour)
			require.NotNil(t, refused)
			assert.True(t, refused.Ended)
			assert.False(t, refused.Waited)

			// The permit and the deadline come at the same time. The call must always fail.
			one(t, l, ok(60, 0, 10*time.Second))
			for range 50 {
				ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(11*time.Second))
				_, refused := acquire(ctx, l, time.Hour)
				require.NotNil(t, refused)
				assert.True(t, refused.Ended)
				cancel()
				one(t, l, ok(60, 0, 10*time.Second))
			}
			assertAtRest(t, l)
		})
	})
	t.Run("random cancels leak nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newService(60)
			l := newLimiter()
			var all sync.WaitGroup
			for g := range 300 {
				rng := rand.New(rand.NewPCG(4, uint64(g)))
				all.Go(func() {
					for range 5 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.Int64N(int64(40*time.Second))))
						ctx, stop := context.WithCancel(ctx)
						time.AfterFunc(time.Duration(rng.Int64N(int64(40*time.Second))), stop)
						p, refused := acquire(ctx, l, time.Duration(rng.Int64N(int64(time.Minute))))
						if refused == nil {
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
			l := newLimiter()
			one(t, l, ok(10, 0, time.Minute))
			ctx, cancel := context.WithCancel(t.Context())
			var waits sync.WaitGroup
			for range 10_000 {
				waits.Go(func() {
					_, refused := acquire(ctx, l, time.Hour*24)
					assert.True(t, refused != nil && refused.Ended && refused.Waited)
				})
			}
			synctest.Wait()
			_, waiting := figures(l)
			assert.Equal(t, 10_000, waiting)
			cancel()
			waits.Wait()
			assertAtRest(t, l)
		}) // synctest.Test fails if a goroutine is left
	})
}

func TestLimiterSecondRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		p, refused := acquire(t.Context(), l, 0)
		require.Nil(t, refused)
		p.Release(ok(60, 59, time.Minute))
		p.Release(tooMany(60, 0, time.Minute, time.Hour))
		p.Release(&quota.Observation{})
		assertAtRest(t, l)
		one(t, l, ok(60, 58, time.Minute))
	})
}

func TestLimiterInSeveralBubbles(t *testing.T) {
	l := newLimiter()
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
			p, refused := acquire(t.Context(), l, time.Hour)
			require.Nil(t, refused)
			defer p.Release(&quota.Observation{})
		})
	}
	one(t, l, ok(60, 59, time.Minute))
}
