package ratelimit

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	forMinute = ReasonMinute
	minute    = time.Minute
	second    = time.Second
	byHand    = minute + minute/ticks // the longest window without a usable Reset
)

// process is a process with one budget, in its own time.
type process struct {
	t   *testing.T
	now time.Time
	budget
}

// newProcess returns a process that knows that no other process uses the key.
func newProcess(t *testing.T) *process {
	return &process{t: t, now: time.Unix(1_000_000_020, 0), budget: budget{processes: 1}}
}

// newSharedProcess returns a process that does not know whether others use the key. Its first
// request has opened a window of one minute.
func newSharedProcess(t *testing.T, limit int) (p *process, reset time.Time) {
	p = newProcess(t)
	p.processes = 0
	reset = p.now.Add(minute)
	p.respond(p.send(), limit, limit-1, reset)
	return p, reset
}

func (p *process) send() slot {
	p.t.Helper()
	s, w, ok := p.admit(p.now, false)
	require.True(p.t, ok, "%+v", w)
	return s
}

// admits sends n requests, and checks that one more has to wait for the given reason.
func (p *process) admits(n int, why Reason) {
	p.t.Helper()
	for range n {
		p.send()
	}
	assert.Equal(p.t, why, p.blocked().reason)
}

func (p *process) blocked() hold {
	p.t.Helper()
	_, w, ok := p.admit(p.now, false)
	require.False(p.t, ok)
	return w
}

// closed returns for how long nothing can be sent.
func (p *process) closed() time.Duration {
	p.t.Helper()
	return p.blocked().until.Sub(p.now)
}

// outcome returns the outcome of a request that was sent now, with the Date of an exact clock.
func (p *process) outcome(status, limit, remaining int, reset time.Time) *Outcome {
	return &Outcome{
		Sent: p.now, Received: p.now, StatusCode: status, Date: p.now.Truncate(second),
		Window: Window{Limit: limit, Remaining: remaining, Reset: reset},
	}
}

func (p *process) respond(s slot, limit, remaining int, reset time.Time) {
	p.settle(s, p.outcome(http.StatusOK, limit, remaining, reset), p.now)
}

// respondTo sends a request for each Remaining, and gets a response with that Remaining.
func (p *process) respondTo(limit int, reset time.Time, remaining ...int) {
	p.t.Helper()
	for _, n := range remaining {
		p.respond(p.send(), limit, n, reset)
	}
}

// reject sends a request that gets a 429.
func (p *process) reject(limit, remaining int, reset time.Time, retryAfter time.Duration) {
	p.t.Helper()
	o := p.outcome(http.StatusTooManyRequests, limit, remaining, reset)
	o.RetryAfter = retryAfter
	p.settle(p.send(), o, p.now)
}

// fail gets a response without rate limit headers.
func (p *process) fail(s slot) {
	p.settle(s, p.outcome(http.StatusBadGateway, 0, 0, time.Time{}), p.now)
}

// open gets the first two responses of a window that ends after a minute.
func (p *process) open(limit, remaining int) time.Time {
	reset := p.now.Add(minute)
	p.respondTo(limit, reset, remaining+1, remaining)
	return reset
}

func TestBudget(t *testing.T) {
	t.Run("admits no more requests than there is room for", func(t *testing.T) {
		for _, before := range []int{0, 2} { // requests of the process before it was restarted
			p := newProcess(t)
			p.respondTo(10, p.now.Add(minute), 9-before)
			p.admits(9-before, forMinute)
		}
	})
	t.Run("a Remaining that counts requests in flight already is no used-up window", func(t *testing.T) {
		p := newProcess(t)
		reset := p.now.Add(minute)
		p.respondTo(4, reset, 3)
		first, second := p.send(), p.send()
		p.respond(second, 4, 1, reset) // the service has counted first, too
		assert.Equal(t, ReasonResponse, p.blocked().reason)
		assert.Equal(t, p.now, p.earliest(p.now, 0, false))
		assert.Equal(t, reset, p.earliest(p.now, 1, false), "after one other")
		p.respond(first, 4, 2, reset)
		p.admits(1, forMinute)
	})
	t.Run("a request without a response counts as spent until a later response", func(t *testing.T) {
		p := newProcess(t)
		reset := p.open(10, 8)
		lost, kept := p.send(), p.send()
		p.settle(lost, &Outcome{Sent: p.now}, p.now)
		p.respond(kept, 10, 7, reset)
		assert.Equal(t, 6, p.known().Remaining)
		p.respondTo(10, reset, 6) // the lost request may still be in flight
		assert.Equal(t, 5, p.known().Remaining)
		p.now = p.now.Add(second / 2)
		p.respondTo(10, reset, 5)
		assert.Equal(t, 4, p.known().Remaining)
		p.now = p.now.Add(second / 2)
		p.respondTo(10, reset, 4) // the lost request never arrived, or this response counts it
		assert.Equal(t, 4, p.known().Remaining)
	})
	t.Run("a request that was not sent changes nothing", func(t *testing.T) {
		p := newProcess(t)
		for range 10 {
			p.settle(p.send(), &Outcome{}, p.now)
		}
		p.admits(1, ReasonResponse)
		for range 10 {
			p.now = p.now.Add(second) // the probe gets no response, so that another one may follow
			p.settle(p.send(), &Outcome{}, p.now)
			p.admits(1, ReasonResponse)
		}
		assert.Equal(t, 11, p.inFlight)
	})
	t.Run("without headers two are in flight, after a 429 one", func(t *testing.T) {
		p := newProcess(t)
		p.fail(p.send())
		slots := []slot{p.send(), p.send()}
		assert.Equal(t, ReasonResponse, p.blocked().reason)
		p.fail(slots[0])
		p.fail(slots[1])
		p.reject(0, 0, time.Time{}, second)
		p.now = p.now.Add(second)
		p.fail(p.send())
		p.admits(1, ReasonResponse)
	})
	t.Run("stays closed if the clock is corrected by a second", func(t *testing.T) {
		p := newProcess(t)
		p.reject(60, 0, p.now.Add(minute), time.Hour)
		p.now = p.now.Add(-second)
		assert.Equal(t, time.Hour+second, p.closed())
	})
	t.Run("forgets everything if the clock is set back", func(t *testing.T) {
		p := newProcess(t)
		p.open(10, 8)
		old := p.send()
		p.now = p.now.Add(-time.Hour)
		p.open(10, 8)
		p.respond(old, 10, 0, p.now.Add(minute))
		p.admits(8, forMinute)
	})
}

func TestBudgetWindow(t *testing.T) {
	t.Run("a late response of an old window is ignored", func(t *testing.T) {
		p := newProcess(t)
		old := p.now.Add(5 * time.Hour)
		p.respondTo(10, old, 9, 8)
		late := p.send()
		p.now = old.Add(2 * second)
		p.respondTo(10, p.now.Add(24*time.Hour), 9)
		e := p.settle(late, p.outcome(http.StatusOK, 10, 0, old), p.now)
		assert.Nil(t, e.closed)
		assert.Equal(t, 9, p.known().Remaining)
	})
	t.Run("a Reset that moves by a second is rounding, not a sliding window", func(t *testing.T) {
		p, reset := newSharedProcess(t, 60)
		for i, slides := range []bool{false, false, true} {
			p.respondTo(60, reset.Add(time.Duration(i)*second), 58-i)
			assert.Equal(t, slides, p.slides, "after %d s", i)
		}
	})
	t.Run("recognises the day by its Reset", func(t *testing.T) {
		p := newProcess(t)
		reset := p.open(10, 8)
		p.respondTo(1000, p.now.Add(5*time.Hour), 1)
		p.respondTo(10, reset, 7)
		assert.Equal(t, 10, p.known().Limit, "the minute again")
		p.respondTo(1000, p.now.Add(5*time.Hour), 0)
		assert.Equal(t, ReasonDay, p.blocked().reason)
		assert.Equal(t, 5, p.lockoutOf(ReasonDay, p.end).Sent, "two, one, one and one")
		p.now = p.now.Add(5*time.Hour + second)
		p.admits(1, ReasonResponse)
	})
	t.Run("without Date, a clock may be minutes wrong", func(t *testing.T) {
		for left, want := range map[time.Duration]time.Duration{
			40 * second: 41 * second, 55 * second: 56 * second, 69 * second: minute, 70 * second: byHand, 10 * minute: byHand,
			time.Hour - second: time.Hour, time.Hour - 2*second: byHand, -second: byHand, second: 2 * second,
		} {
			p := newProcess(t)
			o := p.outcome(http.StatusOK, 10, 0, p.now.Add(left))
			o.Date = time.Time{}
			p.settle(p.send(), o, p.now)
			assert.Equal(t, want, p.closed(), "Reset in %v", left)
		}
	})
	t.Run("takes an absurd Reset for a minute", func(t *testing.T) {
		p := newProcess(t)
		for _, reset := range []time.Time{{}, time.Unix(0, 0), p.now, time.UnixMilli(0).AddDate(50_000, 0, 0)} {
			p.budget = budget{}
			p.respondTo(10, reset, 0)
			assert.Equal(t, byHand, p.closed(), "Reset %v", reset)
		}
	})
	t.Run("adds a margin after a Reset that was early", func(t *testing.T) {
		p := newProcess(t)
		p.respondTo(10, p.now.Add(30*second), 0)
		p.now = p.now.Add(31 * second)
		p.reject(10, 0, p.now, second)
		p.now = p.now.Add(second)
		p.respondTo(10, p.now.Add(30*second), 0)
		assert.Equal(t, 32*second, p.closed())
	})
	t.Run("a sliding window without a Reset has room a minute after its oldest request", func(t *testing.T) {
		p := newProcess(t)
		reset, first := p.now.Add(-time.Hour), p.now
		for remaining := 2; remaining >= 0; remaining-- {
			p.respondTo(3, reset, remaining)
			p.now = p.now.Add(10 * second)
		}
		assert.Equal(t, first.Add(byHand), p.blocked().until)
		p.now = first.Add(byHand)
		p.respondTo(3, reset, 0) // the oldest request has left the window, and this one is in it
		assert.Equal(t, first.Add(10*second).Truncate(minute/ticks).Add(byHand), p.blocked().until)
	})
	t.Run("a fixed window without a Reset ends a minute after its first request", func(t *testing.T) {
		p := newProcess(t)
		first, reset := p.now, p.now.Add(-time.Hour)
		p.respondTo(4, reset, 3)
		p.now = first.Add(30 * second)
		p.respondTo(4, reset, 2)
		p.now = first.Add(byHand)
		one, other := p.send(), p.send()
		p.respond(one, 4, 3, reset)
		p.respond(other, 4, 2, reset)
		p.now = p.now.Add(10 * second)
		p.respondTo(4, reset, 1, 0)
		assert.Equal(t, first.Add(2*byHand).Truncate(minute/ticks), p.blocked().until)
	})
	t.Run("a minute of the wall clock ends on its Reset", func(t *testing.T) {
		for left, grain := range map[time.Duration]time.Duration{40 * second: 0, 56 * second: 0, 57 * second: second} {
			p := newProcess(t)
			reset := p.now.Truncate(minute).Add(minute)
			p.now = reset.Add(-left) // a young window may have begun with our request
			p.respondTo(10, reset, 0)
			assert.Equal(t, reset.Add(grain), p.blocked().until)
			p.now = reset.Add(second)
			p.respondTo(10, reset.Add(minute), 0)
			assert.Equal(t, reset.Add(minute+grain), p.blocked().until)
		}
	})
}

func TestBudgetEarliest(t *testing.T) {
	p := newProcess(t)
	reset := p.open(10, 8)
	end := reset // a window of a minute that was open at the first response
	for before, want := range map[int]time.Time{
		0: p.now, 7: p.now, 8: end, 17: end, 18: end.Add(minute), 28: end.Add(2 * minute),
	} {
		assert.Equal(t, want, p.earliest(p.now, before, false), "%d before it", before)
	}
	assert.Equal(t, end, p.earliest(p.now, 7, true), "the last one is not for background requests")
	p.send()
	assert.Equal(t, p.now, p.earliest(p.now, 6, false), "one is in flight")
	assert.Equal(t, end, p.earliest(p.now, 7, false), "one is in flight")
	p.now = end.Add(second)
	p.respondTo(10, p.now.Add(minute), 0)
	p.now = p.now.Add(61 * second) // the next one is a probe
	for before, want := range map[int]time.Duration{0: 0, 19: 0, 20: minute, 30: 2 * minute} {
		assert.Equal(t, want, p.earliest(p.now, before, false).Sub(p.now), "%d before the one after a probe", before)
	}
}

// The Date of the first response shows roughly how far the server's clock is ahead, and the second
// narrows this. A response that contradicts it counts only if another one does so, too.
func TestBudgetClock(t *testing.T) {
	for _, test := range []struct {
		gap, ahead  time.Duration
		once, twice time.Duration // what is added to Reset
	}{
		{900 * time.Millisecond, 0, second + 90*time.Microsecond, second + 90*time.Microsecond}, // the whole second, plus drift
		{second, -second, second + 100*time.Microsecond, second + 100*time.Microsecond},         // both clocks may be right
		{second, second, 0, 0},
		{second, -2 * second, second, 3 * second}, // the clock was set back
		{second, 5 * second, second, -4 * second},
		{second, -2 * time.Hour, second, 2*time.Hour + second},
	} {
		p := newProcess(t)
		reset := p.now.Add(40 * second)
		p.respondTo(10, reset, 5)
		p.now = p.now.Add(test.gap)
		first, again := p.send(), p.send()
		o := p.outcome(http.StatusOK, 10, 0, reset)
		o.Date = o.Date.Add(test.ahead)
		p.settle(first, o, p.now)
		assert.Equal(t, test.once, p.blocked().until.Sub(reset), "%+v", test)
		p.settle(again, o, p.now)
		assert.Equal(t, test.twice, p.blocked().until.Sub(reset), "%+v", test)
	}
}

func TestBudgetReported(t *testing.T) {
	p := newProcess(t)
	p.observe(p.now)
	first, last := p.now.Add(second), p.now.Add(2*second)
	assert.NotNil(t, p.close(Lockout{Reason: ReasonMinute, Until: first}))
	assert.Nil(t, p.close(Lockout{Reason: ReasonMinute, Until: last}), "the same lockout, which is longer")
	assert.Nil(t, p.opened(slot{admitted: first}))
	assert.Equal(t, last, p.opened(slot{admitted: last}).Until)
}

func TestTally(t *testing.T) {
	var c tally
	for tick := range int64(1000) {
		c.add(tick, 2)
	}
	assert.EqualValues(t, 2*ticks, c.total)
	assert.Equal(t, 2*ticks, c.since(0))
}
