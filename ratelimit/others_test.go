package ratelimit

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// down returns n numbers that fall by one, from the first one on.
func down(from, n int) []int {
	var numbers []int
	for i := range n {
		numbers = append(numbers, from-i)
	}
	return numbers
}

func TestBudgetShare(t *testing.T) {
	t.Run("each two responses that show nobody else double what may be in flight", func(t *testing.T) {
		for responses, most := range map[int]int{1: 62, 2: 124, 4: 248, 6: 496, 7: 496, 8: 991} {
			p, reset := newSharedProcess(t, 1000)
			p.respondTo(1000, reset, down(998, responses)...)
			why := ReasonResponse
			if responses == 8 {
				why = forMinute
			}
			p.admits(most, why)
		}
	})
	t.Run("a response without headers is no request of others", func(t *testing.T) {
		p, reset := newSharedProcess(t, 60)
		p.fail(p.send())
		p.now = p.now.Add(1)
		p.respondTo(60, reset, down(57, 8)...)
		p.admits(50, forMinute)
	})
	t.Run("a request of others narrows the way at once, until the third window", func(t *testing.T) {
		for windows, most := range []int{6, 6, 6, 51} {
			p, reset := newSharedProcess(t, 60)
			p.respondTo(60, reset, down(58, 10)...)
			p.respondTo(60, reset, down(47, 9)...) // it would be 48 without the request of another process
			for range windows {
				p.now = p.now.Add(61 * second)
				p.respondTo(60, p.now.Add(minute), down(59, 9)...)
			}
			for range most {
				p.send()
			}
			p.blocked()
		}
	})
	t.Run("requests of others that may be ours in flight do not widen the way", func(t *testing.T) {
		p, reset := newSharedProcess(t, 60)
		var sent []slot
		for left := 57; left > 30; left -= 2 { // every second request is of others
			for s, _, ok := p.admit(p.now, false); ok; s, _, ok = p.admit(p.now, false) {
				sent = append(sent, s)
			}
			require.LessOrEqual(t, len(sent), 6, "%d are left", left)
			p.respond(sent[0], 60, left, reset)
			sent = sent[1:]
		}
	})
	t.Run("a request in flight may hide one of others, until its response", func(t *testing.T) {
		p, reset := newSharedProcess(t, 60)
		first := p.send()
		p.respondTo(60, reset, down(57, 8)...)
		assert.Zero(t, p.others.trust)
		p.respond(first, 60, 58, reset)
		assert.Equal(t, 9, p.others.trust)
	})
	t.Run("requests of others before the first one of a window narrow the way", func(t *testing.T) {
		p, reset := newSharedProcess(t, 60)
		p.respondTo(60, reset, down(58, 8)...)
		p.now = p.now.Add(61 * second)
		p.respondTo(60, p.now.Add(minute), 50)
		p.admits(6, ReasonResponse)
	})
	t.Run("a short 429 shows others, a long one nothing", func(t *testing.T) {
		for wait, most := range map[time.Duration]int{minute: 6, minute + 1: 51} {
			p, reset := newSharedProcess(t, 60)
			p.reject(60, 0, reset, wait)
			p.now = p.now.Add(wait)
			p.respondTo(60, p.now.Add(minute), down(59, 9)...)
			for range most {
				p.send()
			}
			p.blocked()
		}
	})
	t.Run("six may be in flight; a late request leaves its place and keeps its reservation", func(t *testing.T) {
		p, _ := newSharedProcess(t, 60)
		late := p.send()
		p.admits(5, ReasonResponse)
		assert.Equal(t, p.now.Add(second), p.blocked().wake)
		p.now = p.now.Add(second)
		p.admits(6, ReasonResponse)
		assert.Equal(t, 12, p.inFlight)
		p.settle(late, &Outcome{}, p.now) // it had no place to give back
		p.blocked()
		p, _ = newSharedProcess(t, 21)
		p.admits(5, ReasonResponse) // a quarter of what is left
	})
	t.Run("the requests that others have in flight are left to them", func(t *testing.T) {
		p, reset := newSharedProcess(t, 60)
		sent, o := p.send(), p.outcome(http.StatusOK, 60, 5, reset)
		o.Received = p.now.Add(second / 100) // 53 requests of others while ours was in flight
		p.settle(sent, o, o.Received)
		assert.Equal(t, forMinute, p.blocked().reason)
	})
	t.Run("the more requests others have in flight, the fewer may be here", func(t *testing.T) {
		p, _ := newSharedProcess(t, 60)
		p.others.inFlight = 5
		assert.Equal(t, 4, p.share(), "(59 - 8 × 5) / 4")
		p, _ = newSharedProcess(t, 1001)
		p.others.inFlight = 100
		assert.Equal(t, 50, p.share(), "(1000 - 2 × 100) / 16")
		p.others.estimate(0, second, p.outcome(http.StatusOK, 1001, 999, p.end))
		assert.Equal(t, 87, p.others.inFlight, "1/8 less, as the last response showed none")
	})
	t.Run("others are expected to send half as many again as in the same time before", func(t *testing.T) {
		now := time.Unix(1_000_000_000, 0)
		h := history{{now.Add(-15 * second), 0}, {now.Add(-5 * second), 10}}
		assert.Equal(t, 7, h.expect(now), "1.5 × 5")
	})
	t.Run("requests of the process before its restart are no evidence of others", func(t *testing.T) {
		p := newProcess(t)
		p.processes = 0
		p.respondTo(60, p.now.Add(minute), down(44, 9)...) // they were 15, a quarter of the limit
		p.admits(36, forMinute)
		p.budget = budget{}
		p.respondTo(60, p.now.Add(minute), 43)
		assert.True(t, p.isShared(), "more than a quarter")
	})
	t.Run("a late request does not keep others from showing that nobody else is there", func(t *testing.T) {
		p, reset := newSharedProcess(t, 60)
		p.send()
		p.now = p.now.Add(second)
		slow, quick := p.send(), p.send()
		p.respond(quick, 60, 57, reset)
		p.respond(slow, 60, 56, reset)
		p.respondTo(60, reset, down(55, 6)...)
		p.admits(49, ReasonResponse)
	})
	t.Run("with Processes 8, seven requests are left to the others", func(t *testing.T) {
		p := newProcess(t)
		p.processes = 8
		p.respondTo(60, p.now.Add(30*second), 8) // the window has been open for half a minute
		p.admits(1, forMinute)
	})
	t.Run("a tenth of the window is left to calls that are not in the background", func(t *testing.T) {
		p := newProcess(t)
		p.open(20, 18)
		for range 16 {
			_, _, ok := p.admit(p.now, true)
			require.True(t, ok)
		}
		_, w, ok := p.admit(p.now, true)
		require.False(t, ok)
		assert.Equal(t, forMinute, w.reason)
		p.admits(2, forMinute)
	})
}

// What a 429 alone says about the end of a lockout, for a process that knows nothing else.
func TestBudgetLockout(t *testing.T) {
	const hour = time.Hour
	for _, test := range []struct {
		name                          string
		remaining                     int
		date, reset, retryAfter, want time.Duration // want 0 stands for a minute: nothing usable says more
		scope                         Reason
	}{
		{"used up, Reset is later", 0, 0, 50 * second, 20 * second, 50 * second, ReasonMinute},
		{"used up, Retry-After is later", 0, 0, 50 * second, 51 * second, 51 * second, ReasonMinute},
		{"not used up", 5, 0, 50 * second, 20 * second, 20 * second, ReasonMinute},
		{"not used up, no Retry-After", 5, 0, 50 * second, 0, 51 * second, ReasonMinute},
		{"the day is used up", 0, 0, 5 * hour, 5 * hour, 5 * hour, ReasonDay},
		{"the same, and Retry-After is shorter", 0, 0, 10 * hour, 5 * second, 10 * hour, ReasonDay},
		{"the same, without Retry-After", 0, 0, 5 * hour, 0, 5*hour + second, ReasonDay},
		{"something short while the day has room", 500, 0, 10 * hour, 5 * second, 5 * second, ReasonMinute},
		{"a ban", 0, 0, 50 * second, 5 * minute, 5 * minute, ReasonBan},
		{"both rounded: two seconds apart", 0, 0, 20 * second, 22 * second, 22 * second, ReasonMinute},
		{"more than rounding", 0, 0, 20 * second, 22*second + 1, 22*second + 1, ReasonBan},
		{"Reset by a clock that is ahead", 0, hour, hour + 20*second, 0, 21 * second, ReasonMinute},
		{"a minute, by clocks that differ", 0, 0, 69 * second, 0, minute, ReasonMinute},
		{"more than a minute", 0, 0, 70 * second, 0, 71 * second, ReasonDay},
		{"Reset after a day", 0, 0, 24*hour + 9*second, 0, 24 * hour, ReasonDay},
		{"Reset after more than a day", 0, 0, 24*hour + 10*second, 0, 0, ReasonMinute},
		{"the same, and Retry-After", 0, 0, 25 * hour, second, second, ReasonMinute},
		{"Date of 1970", 0, -1_000_000_000 * second, 20 * second, 0, 0, ReasonMinute},
		{"Reset is past", 0, 0, -hour, 0, 0, ReasonMinute},
		{"Reset is now", 0, 0, 0, 0, 0, ReasonMinute},
		{"Reset is past, and Retry-After", 0, 0, -hour, 30 * second, 30 * second, ReasonMinute},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProcess(t)
			o := p.outcome(http.StatusTooManyRequests, 1000, test.remaining, p.now.Add(test.reset))
			o.Date, o.RetryAfter = p.now.Add(test.date), test.retryAfter
			if test.want == 0 {
				test.want = minute
			}
			p.settle(p.send(), o, p.now)
			assert.Equal(t, test.scope, p.blocked().reason)
			assert.Equal(t, test.want, p.closed())
			p.now = p.now.Add(test.want - 1)
			p.blocked()
			p.now = p.now.Add(1)
			p.send()
		})
	}
	t.Run("lockouts in a row last longer", func(t *testing.T) {
		p := newProcess(t)
		for _, want := range []time.Duration{second / 100, second, 2 * second, 4 * second, 8 * second, 16 * second, 32 * second, minute} {
			p.reject(1000, 5, p.now.Add(time.Hour), second/100)
			assert.Equal(t, want, p.closed())
			p.now = p.blocked().until
		}
		p.respondTo(1000, p.now.Add(time.Hour), 5)
		p.reject(1000, 5, p.now.Add(time.Hour), second/100)
		assert.Equal(t, second/100, p.closed(), "after a success")
		assert.Zero(t, p.margin, "the windows were not too early")
	})
	t.Run("without Retry-After and Reset, a window and twice as long each time", func(t *testing.T) {
		p := newProcess(t)
		for _, want := range []time.Duration{minute, 2 * minute, 4 * minute, 8 * minute, 16 * minute, 16 * minute} {
			p.reject(0, 0, time.Time{}, 0)
			assert.Equal(t, want, p.closed())
			p.now = p.blocked().until
		}
	})
	t.Run("further 429s to requests sent before do not count", func(t *testing.T) {
		for _, limit := range []int{100, 0} {
			p := newProcess(t)
			reset := p.now.Add(minute)
			p.respondTo(limit, reset, 90, 89)
			for _, slot := range []slot{p.send(), p.send()} {
				o := p.outcome(http.StatusTooManyRequests, limit, 5, reset)
				o.RetryAfter = second / 2
				p.settle(slot, o, p.now)
			}
			assert.Equal(t, second/2, p.closed())
		}
	})
	t.Run("is not reported if it is over already", func(t *testing.T) {
		p := newProcess(t)
		slot, o := p.send(), p.outcome(http.StatusTooManyRequests, 60, 5, p.now.Add(minute))
		o.RetryAfter = second
		p.now = p.now.Add(2 * second)
		assert.Nil(t, p.settle(slot, o, p.now).closed)
	})
	t.Run("a success of a request sent before does not end it", func(t *testing.T) {
		p := newProcess(t)
		reset := p.now.Add(minute)
		p.respondTo(60, reset, 59)
		before := p.send()
		p.reject(60, 57, reset, second)
		assert.Nil(t, p.settle(before, p.outcome(http.StatusOK, 60, 58, reset), p.now).opened)
		p.now = p.now.Add(second)
		p.admits(1, ReasonResponse)
	})
	t.Run("who shares a sliding window leaves others what becomes free for a minute", func(t *testing.T) {
		for others, want := range map[int]time.Duration{0: 30 * second, 1: minute} {
			p, _ := newSharedProcess(t, 60)
			p.now = p.now.Add(2 * second)
			p.respondTo(60, p.now.Add(minute), 58-others)
			p.reject(60, 5, p.now.Add(minute), 30*second)
			assert.Equal(t, want, p.closed(), "%d others", others)
		}
	})
}

func TestBudgetReopen(t *testing.T) {
	t.Run("opens a window that is used up", func(t *testing.T) {
		p := newProcess(t)
		p.open(2, 0)
		p.blocked()
		assert.True(t, p.reopen(p.now))
		p.admits(1, ReasonResponse)
	})
	t.Run("lets one request go ahead each time, until one succeeds", func(t *testing.T) {
		p := newProcess(t)
		p.reject(60, 0, p.now.Add(minute), 24*time.Hour)
		for range 3 {
			require.Equal(t, ReasonBan, p.blocked().reason)
			assert.True(t, p.reopen(p.now))
			assert.False(t, p.reopen(p.now), "one may go already")
			asked := p.send()
			assert.False(t, p.reopen(p.now), "one is in flight")
			assert.Equal(t, ReasonResponse, p.blocked().reason, "the others wait for its response")
			o := p.outcome(http.StatusTooManyRequests, 60, 0, p.now.Add(minute))
			o.RetryAfter = 24 * time.Hour
			p.settle(asked, o, p.now)
		}
		assert.True(t, p.reopen(p.now))
		p.respondTo(60, p.now.Add(minute), 59)
		p.admits(59, forMinute)
	})
}

func TestBudgetProbe(t *testing.T) {
	t.Run("after a window that others used, less than a quarter is not enough to go on", func(t *testing.T) {
		for left, most := range map[int]int{249: 1, 250: 15} {
			p, reset := newSharedProcess(t, 1000)
			p.now = p.now.Add(58 * second)
			p.respondTo(1000, reset, left)
			p.now = reset.Add(second)
			p.admits(most, ReasonResponse)
		}
	})
	t.Run("at a cold start, one more goes for each second without a response", func(t *testing.T) {
		p := newProcess(t)
		for range 20 {
			p.admits(1, ReasonResponse)
			assert.Equal(t, second, p.blocked().wake.Sub(p.now))
			p.now = p.now.Add(second)
		}
	})
	t.Run("at the end of a window, a probe without a response is followed sooner if no window slides", func(t *testing.T) {
		for _, c := range []struct {
			windows int // seen so far: a single one does not show whether they slide
			slides  bool
			wake    time.Duration
		}{{windows: 1, wake: 10 * second}, {windows: 2, wake: second}, {windows: 2, slides: true, wake: 10 * second}} {
			p := newProcess(t)
			p.open(2, 0)
			p.epoch, p.slides = c.windows, c.slides
			p.now = p.now.Add(minute + second)
			p.send()
			assert.Equal(t, c.wake, p.blocked().wake.Sub(p.now), "%+v", c)
		}
	})
	t.Run("after a 429, a probe without a response is followed by one more after 10 seconds", func(t *testing.T) {
		p := newProcess(t)
		p.reject(60, 5, p.now.Add(minute), second)
		p.now = p.now.Add(second)
		p.send()
		assert.Equal(t, 10*second, p.blocked().wake.Sub(p.now))
		p.now = p.now.Add(10 * second)
		p.send()
		p.now = p.now.Add(time.Hour)
		p.blocked()
	})
}
