package petstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/quota/quotatest"
)

// ok is a 200 that took no time.
func ok(limit, remaining int, reset time.Duration) Observation {
	now := time.Now()
	return Observation{
		Sent: now, Received: now, StatusCode: http.StatusOK,
		RateLimit: RateLimit{limit, remaining, now.Add(reset)}, Date: now.Truncate(time.Second),
	}
}

// tooMany is a 429 that took no time.
func tooMany(limit, remaining int, reset, retryAfter time.Duration) Observation {
	o := ok(limit, remaining, reset)
	o.StatusCode, o.RetryAfter = http.StatusTooManyRequests, retryAfter
	return o
}

// one makes a request that must be admitted immediately.
func one(t *testing.T, l Limiter, o Observation) {
	t.Helper()
	p, err := l.Acquire(t.Context(), 0)
	require.NoError(t, err)
	p.Release(o)
}

func refused(t *testing.T, err error) *RateLimitError {
	t.Helper()
	e, ok := errors.AsType[*RateLimitError](err)
	require.True(t, ok, "%v", err)
	assert.ErrorIs(t, err, ErrRateLimited)
	assert.True(t, e.Local)
	return e
}

func newService(perMinute int) *quotatest.Service {
	return &quotatest.Service{Clock: time.Now, Window: quotatest.Fixed, PerMinute: perMinute}
}

// carry simulates a request and its response, which take 20 to 200 ms.
func carry(s *quotatest.Service, rng *rand.Rand) Observation {
	sent := time.Now()
	whole := 20*time.Millisecond + time.Duration(rng.Int64N(int64(180*time.Millisecond)))
	out := time.Duration(rng.Int64N(int64(whole)))
	time.Sleep(out)
	o := s.Answer()
	time.Sleep(whole - out)
	return Observation{
		Sent: sent, Received: time.Now(), StatusCode: o.StatusCode,
		RateLimit: RateLimit(o.RateLimit), RetryAfter: o.RetryAfter, Date: o.Date,
	}
}

// lossy is carry over a network that refuses one connection in ten and loses one response in ten.
func lossy(s *quotatest.Service, rng *rand.Rand) Observation {
	fate := rng.IntN(10)
	if fate == 0 {
		return Observation{}
	}
	o := carry(s, rng)
	if fate == 1 {
		o = Observation{Sent: o.Sent}
	}
	return o
}

// ask makes one call as a client does: with one ticket, and again after a 429 or without a
// response.
func ask(l Limiter, s *quotatest.Service, rng *rand.Rand) bool {
	ctx := callIn(context.Background())
	for {
		p, err := l.Acquire(ctx, 30*time.Minute)
		if err != nil {
			return false
		}
		o := carry(s, rng)
		p.Release(o)
		if !o.Received.IsZero() && o.StatusCode != http.StatusTooManyRequests {
			return true
		}
	}
}

// assertAtRest checks that finished calls leave nothing behind.
func assertAtRest(t *testing.T, l *limiter) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Zero(t, l.queue("", time.Now()).budget.InFlight(), "in flight")
	assert.Zero(t, l.queue("", time.Now()).len(), "waiting")
	assert.Nil(t, l.queue("", time.Now()).timer, "timer")
}

func TestLimiterColdStart(t *testing.T) {
	t.Run("one request goes ahead, and its response admits the others", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter().(*limiter)
			assert.True(t, l.RateLimit().IsZero())
			s := newService(60)
			var all sync.WaitGroup
			for g := range 100 {
				all.Go(func() { assert.True(t, ask(l, s, rand.New(rand.NewPCG(1, uint64(g))))) })
			}
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			l.mu.Lock()
			assert.Equal(t, 1, l.queue("", time.Now()).budget.InFlight(), "before the first response")
			l.mu.Unlock()
			time.Sleep(5 * time.Second)
			synctest.Wait()
			assert.Len(t, s.Arrivals(), 60, "in the first window")
			l.mu.Lock()
			assert.Equal(t, 40, l.queue("", time.Now()).len())
			l.mu.Unlock()
			all.Wait()
			assert.Zero(t, s.Rejected())
			assertAtRest(t, l)
		})
	})
	t.Run("one more goes ahead for each second without a response", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter().(*limiter)
			start := time.Now()
			var mu sync.Mutex
			var admitted []time.Duration
			var permits []Permit
			for range 4 {
				go func() {
					p, err := l.Acquire(t.Context(), time.Minute)
					if assert.NoError(t, err) {
						mu.Lock()
						defer mu.Unlock()
						admitted = append(admitted, time.Since(start))
						permits = append(permits, p)
					}
				}()
			}
			time.Sleep(30 * time.Second)
			synctest.Wait()
			assert.Equal(t, []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}, admitted)
			for _, p := range permits {
				p.Release(ok(60, 57, time.Minute))
			}
			assertAtRest(t, l)
		})
	})
	// Callers give up after their request was sent and before there was a response.
	t.Run("a caller that gives up delays no other", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter()
			start := time.Now()
			for range 20 {
				one(t, l, Observation{Sent: time.Now(), Abandoned: true})
			}
			assert.Equal(t, start, time.Now())
			one(t, l, ok(60, 30, time.Minute))
		})
	})
	t.Run("a service that cannot be reached fails soon for all", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter()
			start := time.Now()
			var all sync.WaitGroup
			for range 64 {
				all.Go(func() {
					p, err := l.Acquire(t.Context(), time.Minute)
					if assert.NoError(t, err) {
						time.Sleep(time.Second) // the connection is refused
						p.Release(Observation{})
					}
				})
			}
			all.Wait()
			assert.Less(t, time.Since(start), 20*time.Second)
		})
	})
}

func TestLimiterGate(t *testing.T) {
	t.Run("one request goes ahead after a 429, then the others", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter()
			one(t, l, tooMany(60, 12, 7*time.Second, 20*time.Second))
			var admitted atomic.Int64
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					p, err := l.Acquire(t.Context(), time.Hour)
					if assert.NoError(t, err) {
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
	t.Run("the Reset of a 429 counts if its window is used up", func(t *testing.T) {
		for _, c := range []struct {
			name              string
			remaining         int
			reset, retryAfter time.Duration
			want              time.Duration
			scope             LimitScope
		}{
			{"exhausted, Reset is later", 0, 50 * time.Second, 20 * time.Second, 50 * time.Second, ScopeMinute},
			{"exhausted, Retry-After is later", 0, 50 * time.Second, 51 * time.Second, 51 * time.Second, ScopeMinute},
			{"not exhausted", 5, 50 * time.Second, 20 * time.Second, 20 * time.Second, ScopeMinute},
			{"not exhausted, no Retry-After", 5, 50 * time.Second, 0, 51 * time.Second, ScopeMinute},
			{"the day", 0, 5 * time.Hour, 5 * time.Hour, 5 * time.Hour, ScopeDay},
			{"a ban", 0, 50 * time.Second, 5 * time.Minute, 5 * time.Minute, ScopeBan},
			{"Reset is past", 0, -time.Hour, 30 * time.Second, 30 * time.Second, ScopeMinute},
			{"nothing usable", 0, -time.Hour, 0, time.Minute, ScopeMinute},
		} {
			t.Run(c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := NewLimiter()
					now := time.Now()
					one(t, l, tooMany(60, c.remaining, c.reset, c.retryAfter))
					_, err := l.Acquire(t.Context(), time.Second)
					e := refused(t, err)
					assert.Equal(t, c.scope, e.Scope)
					assert.Equal(t, c.want, e.RetryAt.Sub(now))
					assert.Contains(t, err.Error(), "("+string(c.scope)+")")

					time.Sleep(c.want - 1)
					_, err = l.Acquire(t.Context(), 0)
					_ = refused(t, err)
					time.Sleep(time.Nanosecond)
					one(t, l, ok(60, 59, time.Minute))
				})
			})
		}
	})
	t.Run("closures in a row back off", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter()
			var waited []time.Duration
			for range 9 {
				start := time.Now()
				p, err := l.Acquire(t.Context(), time.Hour)
				require.NoError(t, err)
				waited = append(waited, time.Since(start))
				p.Release(tooMany(60, 5, time.Hour, 10*time.Millisecond))
			}
			s := time.Second
			assert.Equal(t, []time.Duration{0, s / 100, s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s}, waited)
		})
	})
	t.Run("waiters are refused when the gate closes for too long", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter().(*limiter)
			p, err := l.Acquire(t.Context(), 0)
			require.NoError(t, err)
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					_, err := l.Acquire(t.Context(), time.Minute)
					assert.Equal(t, ScopeBan, refused(t, err).Scope)
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
				{Reason: WaitMinute, Until: start.Add(32 * time.Second), Waiting: 1},
				{Reason: WaitBan, Until: start.Add(32*time.Second + 10*time.Minute), Waiting: 1},
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

func TestLimiterWaitTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter().(*limiter)
		one(t, l, ok(60, 0, 40*time.Second))
		start := time.Now()

		_, err := l.Acquire(t.Context(), 39*time.Second)
		e := refused(t, err)
		assert.Equal(t, ScopeMinute, e.Scope)
		assert.Equal(t, start.Add(41*time.Second), e.RetryAt)
		assert.Equal(t, 60, e.RateLimit.Limit)

		ctx, cancel := context.WithTimeout(t.Context(), 39*time.Second)
		defer cancel()
		_, err = l.Acquire(ctx, time.Hour)
		_ = refused(t, err)
		assert.NotErrorIs(t, err, context.DeadlineExceeded, "it has not ended")

		// The next window is for the calls in the queue; the one after that begins a minute later.
		leave, stop := context.WithCancel(t.Context())
		for range 60 {
			go func() { _, _ = l.Acquire(leave, time.Hour) }()
		}
		synctest.Wait()
		_, err = l.Acquire(t.Context(), 99*time.Second)
		e = refused(t, err)
		assert.Equal(t, start.Add(101*time.Second), e.RetryAt)
		assert.Equal(t, start, time.Now(), "no time has passed")
		stop()
		synctest.Wait()
		assertAtRest(t, l)
	})
}

// maxWait limits the waits for a window or a closed gate, but not those for a response.
func TestLimiterMaxWait(t *testing.T) {
	t.Run("0 waits for the response to the first request", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter()
			p, err := l.Acquire(t.Context(), 0)
			require.NoError(t, err)
			time.AfterFunc(300*time.Millisecond, func() { p.Release(ok(60, 59, time.Minute)) })
			start := time.Now()
			one(t, l, ok(60, 58, time.Minute))
			assert.Equal(t, 300*time.Millisecond, time.Since(start))
			assertAtRest(t, l.(*limiter))
		})
	})
	t.Run("0 fails immediately if the window is used up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter()
			start := time.Now()
			one(t, l, ok(60, 0, 30*time.Second))
			for _, maxWait := range []time.Duration{0, -time.Second} {
				_, err := l.Acquire(t.Context(), maxWait)
				e := refused(t, err)
				assert.Equal(t, start.Add(31*time.Second), e.RetryAt)
				assert.Equal(t, ScopeMinute, e.Scope)
			}
			assert.Equal(t, start, time.Now())
		})
	})
	t.Run("0 fails as soon as the response shows that the window is used up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter()
			p, err := l.Acquire(t.Context(), 0)
			require.NoError(t, err)
			time.AfterFunc(300*time.Millisecond, func() { p.Release(ok(60, 0, time.Minute)) })
			start := time.Now()
			_, err = l.Acquire(t.Context(), 0)
			assert.True(t, refused(t, err).RetryAt.After(time.Now()))
			assert.Equal(t, 300*time.Millisecond, time.Since(start))
			assertAtRest(t, l.(*limiter))
		})
	})
	t.Run("only the wait for the window counts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter()
			p, err := l.Acquire(t.Context(), 0)
			require.NoError(t, err)
			time.AfterFunc(700*time.Millisecond, func() { p.Release(ok(60, 0, 30*time.Second)) })
			var free time.Duration
			ctx := callIn(t.Context(), &ClientTrace{})
			p, err = l.Acquire(ctx, 32*time.Second)
			require.NoError(t, err)
			free = time.Duration(callOf(ctx).free.Load())
			assert.Equal(t, 700*time.Millisecond, free, "reported as not counted")
			p.Release(ok(60, 59, time.Minute))
		})
	})
}

func TestLimiterDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(60)
		s.PerDay = 100
		l := NewLimiter()
		rng := rand.New(rand.NewPCG(3, 3))
		start := time.Now()
		for range 100 {
			p, err := l.Acquire(t.Context(), 2*time.Minute)
			require.NoError(t, err)
			p.Release(carry(s, rng))
		}
		for range 23 {
			_, err := l.Acquire(t.Context(), 2*time.Minute)
			e := refused(t, err)
			assert.Equal(t, ScopeDay, e.Scope)
			assert.WithinDuration(t, start.Add(24*time.Hour), e.RetryAt, 2*time.Second)
			time.Sleep(time.Hour)
		}
		assert.Len(t, s.Arrivals(), 100, "nothing was sent meanwhile")
		time.Sleep(time.Until(start.Add(24*time.Hour - time.Minute)))
		for range 10 {
			p, err := l.Acquire(t.Context(), 2*time.Minute)
			require.NoError(t, err)
			p.Release(carry(s, rng))
		}
		assert.Zero(t, s.Rejected())
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
							p.Release(lossy(s, rng))
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

func TestLimiterAllocations(t *testing.T) {
	l := NewLimiter()
	ctx := callIn(t.Context())
	now := time.Now()
	o := Observation{
		Sent: now, Received: now, StatusCode: 200,
		RateLimit: RateLimit{1000, 999, now.Add(time.Hour)}, Date: now.Truncate(time.Second),
	}
	allocs := testing.AllocsPerRun(1000, func() {
		p, err := l.Acquire(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		p.Release(o)
	})
	assert.LessOrEqual(t, allocs, 1.0)
}

func BenchmarkUncontended(b *testing.B) {
	l := NewLimiter()
	ctx := callIn(b.Context())
	now := time.Now()
	o := Observation{
		Sent: now, Received: now, StatusCode: 200,
		RateLimit: RateLimit{1000, 999, now.Add(time.Hour)}, Date: now.Truncate(time.Second),
	}
	b.ReportAllocs()
	for b.Loop() {
		p, err := l.Acquire(ctx, time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		p.Release(o)
	}
}

// Benchmark512Goroutines has 512 goroutines of which 400 may have a request in flight.
func Benchmark512Goroutines(b *testing.B) {
	l := NewLimiter(Processes(1))
	now := time.Now()
	o := Observation{
		Sent: now, Received: now, StatusCode: 200,
		RateLimit: RateLimit{401, 400, now.Add(time.Hour)}, Date: now.Truncate(time.Second),
	}
	b.SetParallelism(256)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p, err := l.Acquire(b.Context(), 2*time.Hour)
			if err != nil {
				b.Error(err)
				return
			}
			p.Release(o)
		}
	})
}
