package ratelimit

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/testkit"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	testkit.SkipExamples()
	goleak.VerifyTestMain(m)
}

// limiter is a limiter in a synctest bubble.
type limiter struct {
	*Limiter
	t *testing.T
}

// test runs f with a limiter that knows nothing yet, and checks that nothing is left in the limiter
// when the calls are over.
func test(t *testing.T, name string, f func(t *testing.T, l *limiter)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := &limiter{New(), t}
			f(t, l)
			synctest.Wait()
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, q := range l.keys {
				assert.Zero(t, len(q.budget.inFlight)+len(q.waiters)+q.waiting, "requests")
				assert.Nil(t, q.timer, "timer")
			}
		})
	})
}

// permit waits for the permit of a request.
func (l *limiter) permit(r Request) Permit {
	l.t.Helper()
	p, err := l.Acquire(l.t.Context(), r)
	require.NoError(l.t, err)
	return p
}

// one makes a request that must be admitted without a wait for a limit.
func (l *limiter) one(o Outcome) {
	l.t.Helper()
	l.permit(Request{}).Release(o)
}

// refused returns why a request gets no permit.
func (l *limiter) refused(r Request) *Error {
	l.t.Helper()
	_, err := l.Acquire(l.t.Context(), r)
	require.IsType(l.t, &Error{}, err)
	return err.(*Error)
}

// ok is a 200 that took no time.
func ok(limit, remaining int, reset time.Duration) Outcome {
	now := time.Now()
	return Outcome{
		Sent: now, Received: now, StatusCode: http.StatusOK,
		Window: Window{Limit: limit, Remaining: remaining, Reset: now.Add(reset)}, Date: now.Truncate(time.Second),
	}
}

// tooMany is a 429 that took no time.
func tooMany(limit, remaining int, reset, retryAfter time.Duration) Outcome {
	o := ok(limit, remaining, reset)
	o.StatusCode, o.RetryAfter = http.StatusTooManyRequests, retryAfter
	return o
}

func TestLimiterMaxWait(t *testing.T) {
	test(t, "refuses at once what the window has no room for after a restart", func(t *testing.T, l *limiter) {
		for left := 49; left >= 41; left-- { // ten requests are of the process before it
			l.one(ok(60, left, time.Minute))
		}
		for range 41 {
			defer l.permit(Request{}).Release(Outcome{})
		}
		start := time.Now()
		l.refused(Request{})
		assert.Equal(t, start, time.Now())
	})
	test(t, "counts the wait for NotBefore", func(t *testing.T, l *limiter) {
		l.one(ok(60, 59, time.Minute))
		start := time.Now()
		time.AfterFunc(20*time.Second, func() { l.one(tooMany(60, 5, time.Minute, 20*time.Second)) })
		l.refused(Request{NotBefore: start.Add(30 * time.Second), MaxWait: 35 * time.Second})
		assert.Equal(t, 30*time.Second, time.Since(start))
	})
	test(t, "counts the windows of the requests before", func(t *testing.T, l *limiter) {
		l.one(ok(60, 0, 40*time.Second))
		start := time.Now()
		leave, stop := context.WithCancel(t.Context())
		for range 60 {
			go func() { _, _ = l.Acquire(leave, Request{MaxWait: time.Hour}) }()
		}
		synctest.Wait()
		assert.Equal(t, start.Add(101*time.Second), l.refused(Request{MaxWait: 99 * time.Second}).RetryAt)
		stop()
	})
	test(t, "refuses at once those for whom the first window has no room", func(t *testing.T, l *limiter) {
		first, refused := l.permit(Request{}), make(chan error, 3)
		for range 3 {
			go func() {
				p, err := l.Acquire(t.Context(), Request{})
				if refused <- err; err == nil {
					time.Sleep(2 * time.Second)
					p.Release(Outcome{})
				}
			}()
		}
		synctest.Wait()
		first.Release(ok(3, 2, time.Minute))
		synctest.Wait()
		require.Len(t, refused, 2)
		assert.NotEqual(t, <-refused == nil, <-refused == nil)
		time.Sleep(3 * time.Second)
	})
	test(t, "is exceeded by a second if no limit is known", func(t *testing.T, l *limiter) {
		defer l.takes(0).Release(Outcome{})
		go func() { l.takes(time.Second).Release(Outcome{}) }() // a further probe
		synctest.Wait()
		start := time.Now()
		l.refused(Request{})
		assert.Equal(t, time.Second, time.Since(start))
	})
	early := &Error{Reason: ReasonDay, RetryAt: time.Date(2026, 11, 21, 12, 0, 0, 1, time.UTC)}
	assert.EqualError(t, early, "rate limited (day) until 2026-11-21T12:00:01Z", "the text does not say too early a time")
}

// What a 429 alone says about the end of a lockout, and about the limit that it is for.
func TestLimiterLockout(t *testing.T) {
	const second, minute, hour = time.Second, time.Minute, time.Hour
	for name, c := range map[string]struct {
		remaining               int
		reset, retryAfter, want time.Duration
		reason                  Reason
	}{
		"used up, Reset is later":                  {0, 50 * second, 20 * second, 50 * second, ReasonMinute},
		"not used up":                              {5, 50 * second, 20 * second, 20 * second, ReasonMinute},
		"not used up, no Retry-After":              {5, 50 * second, 0, 51 * second, ReasonMinute},
		"the day is used up":                       {0, 5 * hour, 5 * second, 5 * hour, ReasonDay},
		"something short while the day has room":   {500, 10 * hour, 5 * second, 5 * second, ReasonMinute},
		"a ban":                                    {0, 50 * second, 5 * minute, 5 * minute, ReasonBan},
		"both are rounded":                         {0, 20 * second, 22 * second, 22 * second, ReasonMinute},
		"Reset after more than a day":              {0, 25 * hour, 0, minute, ReasonMinute},
		"Reset is past, and Retry-After is usable": {0, -hour, 70 * second, 70 * second, ReasonBan},
	} {
		test(t, name, func(t *testing.T, l *limiter) {
			o := tooMany(1000, c.remaining, c.reset, c.retryAfter)
			l.one(o)
			refused := l.refused(Request{})
			assert.Equal(t, c.want, time.Until(refused.RetryAt))
			assert.Equal(t, c.reason, refused.Reason)
			l.permit(Request{MaxWait: 24 * hour}).Release(Outcome{})
			assert.Equal(t, c.want, time.Since(o.Received))
		})
	}
	test(t, "each in a row is twice as long", func(t *testing.T, l *limiter) {
		for _, want := range []time.Duration{1, 100, 200, 400, 800, 1600, 3200, 6000, 6000} {
			p := l.permit(Request{MaxWait: hour})
			p.Release(tooMany(1000, 5, hour, second/100))
			assert.Equal(t, want*second/100, time.Until(l.refused(Request{}).RetryAt))
		}
	})
	test(t, "each without headers is twice as long", func(t *testing.T, l *limiter) {
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 16} {
			p := l.permit(Request{MaxWait: hour})
			p.Release(bare(http.StatusTooManyRequests))
			assert.Equal(t, want*minute, time.Until(l.refused(Request{}).RetryAt))
		}
	})
}

// takes checks how long a request waits for its permit.
func (l *limiter) takes(want time.Duration) Permit {
	l.t.Helper()
	start := time.Now()
	p := l.permit(Request{MaxWait: time.Hour})
	assert.Equal(l.t, want, time.Since(start))
	return p
}

// bare is a response without headers.
func bare(status int) Outcome {
	return Outcome{Sent: time.Now(), Received: time.Now(), StatusCode: status}
}

func TestLimiterInFlight(t *testing.T) {
	test(t, "six, until they are late", func(t *testing.T, l *limiter) {
		l.one(ok(60, 59, time.Minute))
		for range 6 {
			defer l.takes(0).Release(Outcome{})
		}
		l.takes(time.Second).Release(Outcome{})
	})
	test(t, "one without headers after a 429", func(t *testing.T, l *limiter) {
		l.one(bare(http.StatusTooManyRequests))
		l.takes(time.Minute).Release(bare(http.StatusOK))
		defer l.takes(0).Release(Outcome{})
		l.takes(time.Second).Release(Outcome{})
	})
	test(t, "one after a 429, for ten seconds", func(t *testing.T, l *limiter) {
		o := bare(http.StatusTooManyRequests)
		o.RetryAfter = time.Second / 100
		l.one(bare(http.StatusOK))
		first, second := l.takes(0), l.takes(0)
		first.Release(o)
		second.Release(o)
		probe := l.takes(time.Second / 100)
		another := l.takes(10 * time.Second)
		probe.Release(Outcome{})
		o.Received = time.Now()
		another.Release(o)
		l.takes(time.Second).Release(bare(http.StatusOK)) // the second lockout in a row, not the third
		o.Received = time.Now()
		l.one(o)
		l.takes(time.Second / 100).Release(Outcome{})
	})
	test(t, "a 401 says nothing", func(t *testing.T, l *limiter) {
		o := ok(60, 0, time.Minute)
		o.StatusCode = http.StatusUnauthorized
		l.one(o)
		assert.Zero(t, l.RateLimit(""))
	})
}

// told records what an observer is told.
type told []string

func (a *told) WaitStart(w Wait)      { *a = append(*a, "wait "+string(w.Reason)) }
func (a *told) WaitDone(Wait)         { *a = append(*a, "done") }
func (a *told) LimitClosed(l Lockout) { *a = append(*a, "closed "+string(l.Reason)) }
func (a *told) LimitOpened(l Lockout) { *a = append(*a, "opened "+string(l.Reason)) }

func TestLimiterObserver(t *testing.T) {
	test(t, "is told of each lockout once", func(t *testing.T, l *limiter) {
		var a told
		r := Request{MaxWait: 24 * time.Hour, Observer: &a}
		l.one(ok(60, 59, time.Minute))
		early, first, longer, ban := l.permit(r), l.permit(r), l.permit(r), l.permit(r)
		first.Release(tooMany(60, 50, time.Minute, 10*time.Second))
		longer.Release(tooMany(60, 50, time.Minute, 20*time.Second))
		ban.Release(tooMany(60, 50, time.Minute, 5*time.Minute))
		time.Sleep(5 * time.Minute)
		early.Release(ok(60, 59, time.Minute))
		assert.Equal(t, told{"closed minute", "closed ban"}, a)
		l.permit(r).Release(ok(60, 59, time.Minute))
		l.permit(r).Release(ok(60, 0, 5*time.Hour))
		l.permit(r).Release(ok(60, 59, time.Minute))
		assert.Equal(t, told{"opened ban", "closed day", "wait day", "done", "opened day"}, a[2:])
	})
}

func TestLimiterBackground(t *testing.T) {
	for pause, want := range map[time.Duration]int{0: 53, 3 * time.Minute: 59} {
		test(t, "leaves a tenth unless the last other call was before "+pause.String(), func(t *testing.T, l *limiter) {
			l.one(ok(60, 59, time.Minute))
			time.Sleep(pause)
			for left := range want {
				l.permit(Request{Background: true}).Release(ok(60, 58-left, time.Minute))
			}
			l.refused(Request{Background: true})
			var a told
			l.permit(Request{Background: true, MaxWait: time.Hour, Observer: &a}).Release(Outcome{})
			assert.Equal(t, told{"wait background", "done"}, a)
		})
	}
}

// Contexts end at random times. Nothing is left in the limiter.
func TestLimiterContext(t *testing.T) {
	test(t, "ends with the window, while the machine is suspended", func(t *testing.T, l *limiter) {
		l.one(ok(60, 0, 40*time.Second))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, cancel)
		l.now = func() time.Time {
			if ctx.Err() != nil {
				return time.Now().Add(time.Minute)
			}
			return time.Now()
		}
		_, err := l.Acquire(ctx, Request{MaxWait: time.Hour})
		assert.ErrorIs(t, err, context.Canceled)
	})
	test(t, "ends at any time", func(t *testing.T, l *limiter) {
		s := &Service{Clock: time.Now, Window: Fixed, PerMinute: 60}
		within := func(d time.Duration) time.Duration { return time.Duration(rand.Int64N(int64(d))) }
		var all sync.WaitGroup
		for range 1_500 {
			all.Go(func() {
				time.Sleep(within(2 * time.Minute))
				ctx, cancel := context.WithTimeout(t.Context(), within(40*time.Second))
				defer cancel()
				if p, err := l.Acquire(ctx, Request{MaxWait: within(time.Minute)}); err == nil {
					p.Release(carry(s, within(200*time.Millisecond)))
				}
			})
		}
		all.Wait()
		assert.Zero(t, s.Rejected)
	})
}

func TestLimiterKeys(t *testing.T) {
	test(t, "that are of no use are dropped, and no others", func(t *testing.T, l *limiter) {
		l.permit(Request{Key: "closed"}).Release(tooMany(60, 0, time.Minute, 100*time.Hour))
		asked := l.permit(Request{Key: "in flight"})
		for range 10 * manyKeys {
			l.permit(Request{Key: time.Now().String()}).Release(ok(60, 59, time.Minute))
			time.Sleep(2 * time.Minute)
		}
		assert.LessOrEqual(t, len(l.keys), manyKeys)
		assert.Contains(t, l.keys, "in flight")
		assert.Contains(t, l.keys, "closed")
		asked.Release(Outcome{})
	})
}

// While a machine is suspended its timers stand still, and the wall clock does not.
func TestLimiterSuspended(t *testing.T) {
	for _, notBefore := range []time.Duration{0, 30 * time.Minute} {
		test(t, "a wait until "+notBefore.String()+" ends soon after", func(t *testing.T, l *limiter) {
			begun, wakes := time.Now(), time.Now().Add(time.Minute)
			l.now = func() time.Time {
				if now := time.Now(); now.Before(wakes) {
					return now
				}
				return time.Now().Add(time.Hour)
			}
			l.one(ok(60, 0, 30*time.Minute))
			l.permit(Request{NotBefore: begun.Add(notBefore), MaxWait: time.Hour}).Release(Outcome{})
			assert.LessOrEqual(t, time.Since(begun), 3*time.Minute, "it looks again within a sixteenth of half an hour")
		})
	}
}

// In a bubble, the time begins in the year 2000.
func TestLimiterClockSetBack(t *testing.T) {
	l := &limiter{New(), t}
	l.one(ok(60, 0, time.Minute))
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		(&limiter{l.Limiter, t}).permit(Request{MaxWait: time.Hour}).Release(Outcome{})
		assert.Equal(t, start, time.Now())
	})
}

// BenchmarkLimiter measures what a permit costs without a queue.
func BenchmarkLimiter(b *testing.B) {
	o := ok(1_000_000, 999_999, time.Hour)
	l := New()
	b.ReportAllocs()
	for b.Loop() {
		p, _ := l.Acquire(b.Context(), Request{Key: "key", MaxWait: time.Minute})
		p.Release(o)
	}
}
