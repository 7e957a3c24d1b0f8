package ratelimit

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// observer is an Observer whose functions may be nil.
type observer struct {
	start, done              func(Wait)
	limitClosed, limitOpened func(Lockout)
	changed                  func(from, to Window)
}

func call[T any](f func(T), arg T) {
	if f != nil {
		f(arg)
	}
}

func (o observer) WaitStart(w Wait)      { call(o.start, w) }
func (o observer) WaitDone(w Wait)       { call(o.done, w) }
func (o observer) LimitClosed(l Lockout) { call(o.limitClosed, l) }
func (o observer) LimitOpened(l Lockout) { call(o.limitOpened, l) }

func TestLimiterQueue(t *testing.T) {
	test(t, "reports to each call what it waits for", func(t *testing.T, l *limiter) {
		var told []Wait
		tell := observer{start: func(w Wait) {
			l.RateLimit("") // this would wait for ever if the lock were held
			told = append(told, w)
		}}
		start := time.Now()
		ask := func(r Request) {
			r.Observer = tell
			if p, refused := l.ask(t.Context(), r); refused == nil {
				p.Release(Outcome{})
			}
		}
		p := l.permit()
		ask(Request{MaxWait: time.Second})
		p.Release(ok(60, 0, 30*time.Second))
		ask(Request{MaxWait: time.Minute})
		l.one(ok(60, 0, 30*time.Second))
		ask(Request{MaxWait: time.Minute, Background: true})
		l.one(tooMany(60, 0, 30*time.Second, 10*time.Minute))
		ask(Request{MaxWait: time.Hour})
		begins := start.Add(32 * time.Second)
		assert.Equal(t, []Wait{
			{Reason: ReasonResponse, Waiting: 1},
			{Reason: ReasonMinute, Until: begins, Waiting: 1},
			{Reason: ReasonBackground, Until: begins.Add(31 * time.Second), Waiting: 1},
			{Reason: ReasonBan, Until: begins.Add(31*time.Second + 10*time.Minute), Waiting: 1},
		}, told)
	})
	test(t, "no call waits behind those in background", func(t *testing.T, l *limiter) {
		for left := 19; left >= 2; left-- { // two are the reserve
			l.one(ok(20, left, time.Minute))
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = l.ask(ctx, Request{MaxWait: time.Hour, Background: true}) }()
		synctest.Wait()
		waits := observer{start: func(w Wait) { assert.Fail(t, "waits", "%+v", w) }}
		l.permitFor(Request{Observer: waits}).Release(Outcome{})
		cancel()
	})
	test(t, "each in background goes after nine others once it waited a minute", func(t *testing.T, l *limiter) {
		l.one(ok(2, 0, time.Minute))
		var order []int
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				p := l.permitFor(Request{MaxWait: time.Hour, Background: i < 2})
				order = append(order, i) // one at a time: the window never has more than one left
				p.Release(ok(2, 1, time.Minute))
			})
			synctest.Wait()
		}
		all.Wait()
		assert.Equal(t, []int{2, 3, 4, 5, 6, 7, 8, 9, 0, 10, 11, 1}, order, "with the one that used up the window")
	})
	test(t, "a function of the user may make a call that waits for the response to this one", func(t *testing.T, l *limiter) {
		nested := false
		call := observer{start: func(Wait) {
			if !nested {
				nested = true
				l.one(ok(60, 58, time.Minute))
			}
		}}
		p := l.permit()
		time.AfterFunc(time.Millisecond, func() { p.Release(ok(60, 59, time.Minute)) })
		l.permitFor(Request{Observer: call}).Release(ok(60, 57, time.Minute))
		assert.True(t, nested)
	})
}

func TestLimiterContext(t *testing.T) {
	test(t, "ends the wait, although the permit comes at the same time", func(t *testing.T, l *limiter) {
		l.one(ok(60, 0, 10*time.Second))
		for range 50 {
			ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(11*time.Second))
			_, refused := l.ask(ctx, Request{MaxWait: time.Hour})
			require.NotNil(t, refused)
			assert.ErrorIs(t, refused, context.DeadlineExceeded)
			cancel()
			l.one(ok(60, 0, 10*time.Second))
		}
	})
	test(t, "random cancels leak nothing", func(t *testing.T, l *limiter) {
		s := newService(60)
		var all sync.WaitGroup
		for g := range 300 {
			rng := rand.New(rand.NewPCG(4, uint64(g)))
			within := func(d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }
			all.Go(func() {
				for range 5 {
					ctx, cancel := context.WithTimeout(t.Context(), within(40*time.Second))
					ctx, stop := context.WithCancel(ctx)
					time.AfterFunc(within(40*time.Second), stop)
					if p, refused := l.ask(ctx, Request{MaxWait: within(time.Minute)}); refused == nil {
						o := Outcome{} // one in ten finds no connection, and one has no response
						if fate := rng.IntN(10); fate > 0 {
							if o = carry(s, within(200*time.Millisecond)); fate == 1 {
								o = Outcome{Sent: o.Sent}
							}
						}
						p.Release(o)
					}
					cancel()
					stop()
				}
			})
		}
		all.Wait()
		assert.Zero(t, s.Rejected)
	})
}

func TestLimiterGate(t *testing.T) {
	test(t, "waiters are refused when the first response shows a window that is too small", func(t *testing.T, l *limiter) {
		p := l.permit()
		var refusals atomic.Int64
		for range 100 {
			go func() {
				p, refused := l.ask(t.Context(), Request{MaxWait: 0})
				if refused != nil {
					refusals.Add(1)
					return
				}
				time.Sleep(time.Second)
				p.Release(Outcome{})
			}()
		}
		synctest.Wait()
		p.Release(ok(60, 59, time.Minute))
		synctest.Wait()
		assert.EqualValues(t, 41, refusals.Load())
		time.Sleep(20 * time.Second)
	})
	test(t, "the time that a call has waited counts", func(t *testing.T, l *limiter) {
		l.one(ok(60, 0, 40*time.Second))
		start := time.Now()
		go func() { l.permit().Release(tooMany(60, 5, time.Minute, 30*time.Second)) }()
		synctest.Wait()
		_, refused := l.ask(t.Context(), Request{MaxWait: time.Minute})
		require.NotNil(t, refused)
		assert.Equal(t, 41*time.Second, time.Since(start))
	})
}

// MaxWait limits the waits for a window and for the end of a lockout, but not those for a response.
func TestLimiterMaxWait(t *testing.T) {
	test(t, "the wait for NotBefore counts", func(t *testing.T, l *limiter) {
		l.one(ok(60, 59, time.Minute))
		start := time.Now()
		time.AfterFunc(20*time.Second, func() { l.one(tooMany(60, 5, time.Minute, 20*time.Second)) })
		_, refused := l.ask(t.Context(), Request{NotBefore: start.Add(30 * time.Second), MaxWait: 35 * time.Second})
		require.NotNil(t, refused)
		assert.Equal(t, 30*time.Second, time.Since(start))
	})
	test(t, "only the wait for the window counts", func(t *testing.T, l *limiter) {
		p := l.permit()
		time.AfterFunc(700*time.Millisecond, func() { p.Release(ok(60, 0, 30*time.Second)) })
		var w Wait
		r := Request{MaxWait: 32 * time.Second, Observer: observer{done: func(done Wait) { w = done }}}
		l.permitFor(r).Release(ok(60, 59, time.Minute))
		assert.Equal(t, [3]int{60, 0, 1}, [3]int{w.Window.Limit, w.Window.Remaining, w.Sent})
	})
	test(t, "does not end while only a response is missing", func(t *testing.T, l *limiter) {
		l.one(ok(60, 0, 30*time.Second))
		go func() {
			p := l.permit()
			time.Sleep(500 * time.Millisecond)
			p.Release(ok(60, 59, time.Minute))
		}()
		synctest.Wait()
		l.permitFor(Request{MaxWait: 31 * time.Second}).Release(ok(60, 58, time.Minute))
	})
}

func TestLimiterWaitTooLong(t *testing.T) {
	early := &Error{Reason: ReasonDay, RetryAt: time.Date(2026, 11, 21, 12, 0, 0, 1, time.UTC)}
	require.EqualError(t, early, "rate limited (day) until 2026-11-21T12:00:01Z", "the text does not say too early a time")
	test(t, "behind others", func(t *testing.T, l *limiter) {
		l.one(ok(60, 0, 40*time.Second))
		start := time.Now()
		refused := l.refused(Request{MaxWait: 39 * time.Second})
		assert.Equal(t, start.Add(41*time.Second), refused.RetryAt)
		assert.Equal(t, 60, refused.Window.Limit)
		// The next window is for the calls in the queue; the one after that begins a minute later.
		leave, stop := context.WithCancel(t.Context())
		for range 60 {
			go func() { _, _ = l.ask(leave, Request{MaxWait: time.Hour}) }()
		}
		synctest.Wait()
		assert.Equal(t, start.Add(101*time.Second), l.refused(Request{MaxWait: 99 * time.Second}).RetryAt)
		l.refused(Request{Background: true, MaxWait: 99 * time.Second})
		assert.Equal(t, start, time.Now(), "no time has passed")
		stop()
	})
	test(t, "if a call that asked before comes late", func(t *testing.T, l *limiter) {
		l.one(ok(1, 0, 40*time.Second))
		early := Request{Asked: time.Now(), MaxWait: time.Minute}
		time.Sleep(time.Millisecond)
		go l.refused(Request{MaxWait: time.Minute})
		synctest.Wait()
		l.permitFor(early).Release(ok(1, 0, time.Minute))
	})
}

// While a machine is suspended its timers stand still, and the wall clock does not.
func TestLimiterSuspended(t *testing.T) {
	var slept atomic.Int64 // while the clock is read
	suspend := func(d time.Duration) { slept.Store(int64(d)) }
	start := func(l *limiter) {
		suspend(0)
		l.now = func() time.Time { return time.Now().Add(time.Duration(slept.Load())) }
	}
	for name, notBefore := range map[string]time.Duration{"window": 0, "NotBefore": 30 * time.Minute} {
		test(t, "a wait for a "+name+" ends soon after", func(t *testing.T, l *limiter) {
			start(l)
			begun := time.Now()
			if notBefore == 0 {
				l.one(ok(60, 0, 30*time.Minute))
			}
			time.AfterFunc(time.Minute, func() { suspend(time.Hour) })
			l.permitFor(Request{NotBefore: begun.Add(notBefore), MaxWait: time.Hour}).Release(Outcome{})
			// After the first minute, it looks again within a sixteenth of half an hour.
			assert.LessOrEqual(t, time.Since(begun), 3*time.Minute)
		})
	}
	test(t, "a call is not refused until a time that is past", func(t *testing.T, l *limiter) {
		start(l)
		l.one(tooMany(60, 0, time.Minute, 30*time.Minute))
		l.refused(Request{MaxWait: time.Minute})
		suspend(time.Hour)
		l.one(Outcome{})
	})
}
