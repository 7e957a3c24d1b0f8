package quota_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/quota"
)

func TestBudgetShare(t *testing.T) {
	t.Run("six may be in flight while nothing is known about others", func(t *testing.T) {
		p, _ := newSharedProcess(t)
		sendSix(p)
		assert.Equal(t, quota.ForResponse, p.blocked().Reason)
	})
	t.Run("eight responses that show nobody else allow all that is left", func(t *testing.T) {
		p, reset := newSharedProcess(t)
		for left := 58; left > 50; left-- {
			p.respond(p.send(), 60, left, reset)
		}
		for range 51 {
			p.send()
		}
		assert.Equal(t, quota.Reason(quota.Minute), p.blocked().Reason)
	})
	t.Run("a request of others narrows the way at once, also in the next window", func(t *testing.T) {
		p, reset := newSharedProcess(t)
		for left := 58; left > 48; left-- {
			p.respond(p.send(), 60, left, reset)
		}
		p.respond(p.send(), 60, 46, reset) // 47 without the one of others
		for range 5 {
			p.respond(p.send(), 60, 45, reset)
		}
		sendSix(p)
		assert.Equal(t, quota.ForResponse, p.blocked().Reason)
	})
	t.Run("requests of others that may be ours in flight do not widen the way", func(t *testing.T) {
		p, reset := newSharedProcess(t)
		var sent []quota.Slot
		for left := 57; left > 30; left -= 2 { // every second request is of others
			for s, _, ok := p.Admit(p.now, false); ok; s, _, ok = p.Admit(p.now, false) {
				sent = append(sent, s)
			}
			require.LessOrEqual(t, len(sent), 6, "%d are left", left)
			p.respond(sent[0], 60, left, reset)
			sent = sent[1:]
		}
	})
	t.Run("responses in any order show nobody else, once all have come", func(t *testing.T) {
		p, reset := newSharedProcess(t)
		var sent []quota.Slot
		for range 6 {
			sent = append(sent, p.send())
		}
		for i, slot := range sent {
			p.respond(slot, 60, 53+i, reset)
		}
		for range 20 {
			p.send()
		}
	})
	t.Run("a 429 is no evidence of how many others there are", func(t *testing.T) {
		p, reset := newSharedProcess(t)
		p.reject(60, 0, reset, 10*time.Hour)
		p.now = p.now.Add(10 * time.Hour)
		p.respond(p.send(), 60, 59, p.now.Add(time.Minute))
		sendSix(p)
	})
	t.Run("a late request leaves its place and keeps its reservation", func(t *testing.T) {
		p, _ := newSharedProcess(t)
		sendSix(p)
		wake := p.blocked().Wake
		assert.LessOrEqual(t, wake.Sub(p.now), time.Second)
		p.now = wake
		sendSix(p)
		assert.Equal(t, 12, p.InFlight())
	})
	t.Run("the requests that others have in flight are left to them", func(t *testing.T) {
		p, reset := newSharedProcess(t)
		p.respond(p.send(), 60, 5, reset) // 53 requests of others while ours was in flight
		assert.Equal(t, quota.Reason(quota.Minute), p.blocked().Reason)
	})
	t.Run("what came during a single slow response of ours is not in flight now", func(t *testing.T) {
		p, reset := newSharedProcess(t)
		left := 59
		for _, took := range []time.Duration{10 * time.Millisecond, 10 * time.Millisecond, 2 * time.Second} {
			slot, sent := p.send(), p.now
			p.now = p.now.Add(took)
			left--
			if took > time.Second {
				left -= 30 // requests of others, one after the other
			}
			p.Settle(slot, &quota.Observation{
				Sent: sent, Received: p.now, StatusCode: http.StatusOK, Date: p.now.Truncate(time.Second),
				RateLimit: quota.RateLimit{Limit: 60, Remaining: left, Reset: reset},
			}, p.now)
		}
		for range 4 { // at least a quarter of the rest
			p.send()
		}
	})
	t.Run("with Processes 8, seven requests are left to the others", func(t *testing.T) {
		p := newProcess(t)
		p.Processes = 8
		p.respond(p.send(), 60, 8, p.now.Add(30*time.Second)) // the window has been open for half a minute
		p.send()
		assert.Equal(t, quota.Reason(quota.Minute), p.blocked().Reason)
	})
}

func sendSix(p *process) {
	for range 6 {
		p.send()
	}
}

func TestBudgetLockout(t *testing.T) {
	for _, test := range []struct {
		name              string
		remaining         int
		reset, retryAfter time.Duration
		want              time.Duration
		scope             quota.Scope
	}{
		{"used up, Reset is later", 0, 50 * time.Second, 20 * time.Second, 50 * time.Second, quota.Minute},
		{"used up, Retry-After is later", 0, 50 * time.Second, 51 * time.Second, 51 * time.Second, quota.Minute},
		{"not used up", 5, 50 * time.Second, 20 * time.Second, 20 * time.Second, quota.Minute},
		{"not used up, no Retry-After", 5, 50 * time.Second, 0, 51 * time.Second, quota.Minute},
		{"the day is used up", 0, 5 * time.Hour, 5 * time.Hour, 5 * time.Hour, quota.Day},
		{"the day is used up, and Retry-After is shorter", 0, 10 * time.Hour, 5 * time.Second, 10 * time.Hour, quota.Day},
		{"something short while the day has room", 500, 10 * time.Hour, 5 * time.Second, 5 * time.Second, quota.Minute},
		{"a ban", 0, 50 * time.Second, 5 * time.Minute, 5 * time.Minute, quota.Ban},
		{"Reset is past", 0, -time.Hour, 30 * time.Second, 30 * time.Second, quota.Minute},
		{"nothing usable", 0, -time.Hour, 0, time.Minute, quota.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProcess(t)
			p.reject(1000, test.remaining, p.now.Add(test.reset), test.retryAfter)
			w := p.blocked()
			assert.Equal(t, quota.Reason(test.scope), w.Reason)
			assert.Equal(t, test.want, w.Until.Sub(p.now))
			p.now = w.Until.Add(-1)
			p.blocked()
			p.now = w.Until
			p.send()
		})
	}
	t.Run("lockouts in a row last longer", func(t *testing.T) {
		p := newProcess(t)
		var closed []time.Duration
		for range 8 {
			p.reject(1000, 5, p.now.Add(time.Hour), 10*time.Millisecond)
			until := p.blocked().Until
			closed = append(closed, until.Sub(p.now))
			p.now = until
		}
		s := time.Second
		assert.Equal(t, []time.Duration{s / 100, s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s}, closed)
	})
}

func TestBudgetReopen(t *testing.T) {
	ban := func(p *process) {
		p.t.Helper()
		p.reject(60, 0, p.now.Add(time.Minute), 24*time.Hour)
		require.Equal(p.t, quota.Reason(quota.Ban), p.blocked().Reason)
	}
	t.Run("lets one request go ahead", func(t *testing.T) {
		p := newProcess(t)
		ban(p)
		assert.True(t, p.Reopen(p.now))
		asked := p.send()
		assert.Equal(t, quota.ForResponse, p.blocked().Reason, "the others wait for its response")
		p.respond(asked, 60, 59, p.now.Add(time.Minute))
		p.send()
		p.send()
	})
	t.Run("has no effect on an open key", func(t *testing.T) {
		p := newProcess(t)
		assert.False(t, p.Reopen(p.now))
		p.open(12, 10)
		assert.False(t, p.Reopen(p.now))
		p.send()
		p.send()
	})
	t.Run("opens a window that is used up", func(t *testing.T) {
		p := newProcess(t)
		p.open(2, 0)
		p.blocked()
		assert.True(t, p.Reopen(p.now))
		p.send()
		p.blocked()
	})
	t.Run("lets one request go ahead each time", func(t *testing.T) {
		p := newProcess(t)
		ban(p)
		for range 3 {
			assert.True(t, p.Reopen(p.now))
			assert.False(t, p.Reopen(p.now), "one may go already")
			asked := p.send()
			assert.False(t, p.Reopen(p.now), "one is in flight")
			p.Settle(asked, &quota.Observation{
				Sent: p.now, Received: p.now, StatusCode: http.StatusTooManyRequests, RetryAfter: 24 * time.Hour,
			}, p.now)
			p.blocked()
		}
	})
}

func TestBudgetBackground(t *testing.T) {
	p := newProcess(t)
	p.Reserve = 50
	p.open(12, 10)
	for range 4 {
		_, _, ok := p.Admit(p.now, true)
		require.True(t, ok)
	}
	_, w, ok := p.Admit(p.now, true)
	require.False(t, ok, "half of the window is left to the others")
	assert.Equal(t, quota.Reason(quota.Minute), w.Reason)
	for range 6 {
		p.send()
	}
}

// A lockout or a window lasts for a day at most, unless Retry-After asks for more.
func TestBudgetLongestLockout(t *testing.T) {
	const day = 24 * time.Hour
	for _, date := range []time.Duration{0, -30 * 365 * day, -2 * day, -time.Hour, time.Hour, 2 * day, 30 * 365 * day} {
		for _, reset := range []time.Duration{-30 * 365 * day, -day, time.Minute, day, 25 * time.Hour, 2 * day, 30 * 365 * day} {
			for _, status := range []int{http.StatusOK, http.StatusTooManyRequests} {
				for _, retryAfter := range []time.Duration{0, 30 * time.Second} {
					p := newProcess(t)
					p.Settle(p.send(), &quota.Observation{
						Sent: p.now, Received: p.now, StatusCode: status, RetryAfter: retryAfter, Date: p.now.Add(date),
						RateLimit: quota.RateLimit{Limit: 2, Remaining: 0, Reset: p.now.Add(reset)},
					}, p.now)
					assert.LessOrEqual(t, p.blocked().Until.Sub(p.now), day, "Date %v, Reset %v, status %d", date, reset, status)
				}
			}
		}
	}
	p := newProcess(t)
	p.reject(2, 0, p.now.Add(time.Minute), 7*day)
	assert.Equal(t, 7*day, p.blocked().Until.Sub(p.now))
}

func TestAfter429(t *testing.T) {
	received := time.Unix(1_000_000_000, 0)
	for _, test := range []struct {
		name                          string
		date, reset, retryAfter, want time.Duration
		scope                         quota.Scope
	}{
		{"Retry-After and Reset", 0, 20 * time.Second, 30 * time.Second, 30 * time.Second, quota.Ban},
		{"Reset alone", 0, 20 * time.Second, 0, 20 * time.Second, quota.Minute},
		{"Reset by a clock that is ahead", time.Hour, time.Hour + 20*time.Second, 0, 20 * time.Second, quota.Minute},
		{"the day", 0, 5 * time.Hour, 0, 5 * time.Hour, quota.Day},
		{"Reset after more than a day", 0, 25 * time.Hour, 0, -1, quota.Minute},
		{"the same, and Retry-After", 0, 25 * time.Hour, time.Second, time.Second, quota.Minute},
		{"Date of 1970", -1_000_000_000 * time.Second, 20 * time.Second, 0, -1, quota.Minute},
		{"Reset is past", 0, -time.Second, 0, -1, quota.Minute},
		{"both rounded: two seconds apart", 0, 20 * time.Second, 22 * time.Second, 22 * time.Second, quota.Minute},
		{"more than rounding", 0, 20 * time.Second, 23 * time.Second, 23 * time.Second, quota.Ban},
		{"a minute, rounded", 0, 62 * time.Second, 0, 62 * time.Second, quota.Minute},
		{"more than a minute", 0, 63 * time.Second, 0, 63 * time.Second, quota.Day},
	} {
		t.Run(test.name, func(t *testing.T) {
			opens, scope := quota.After429(&quota.Observation{
				Received: received, RetryAfter: test.retryAfter, Date: received.Add(test.date),
				RateLimit: quota.RateLimit{Limit: 60, Reset: received.Add(test.reset)},
			})
			if test.want < 0 {
				assert.Zero(t, opens)
			} else {
				assert.Equal(t, received.Add(test.want), opens)
			}
			assert.Equal(t, test.scope, scope)
		})
	}
}

func TestBudgetProbe(t *testing.T) {
	t.Run("after a window that others used, less than a quarter is not enough to go on", func(t *testing.T) {
		for left, most := range map[int]int{249: 1, 250: 15} {
			p := newProcess(t)
			p.Processes = 0
			reset := p.now.Add(time.Minute)
			p.respond(p.send(), 1000, 999, reset)
			p.now = p.now.Add(58 * time.Second)
			p.respond(p.send(), 1000, left, reset)
			p.now = reset.Add(time.Second)
			for range most {
				p.send()
			}
			assert.Equal(t, quota.ForResponse, p.blocked().Reason, "%d are left", left)
		}
	})
	t.Run("after a 429, a probe without a response is followed by one more after 10 seconds", func(t *testing.T) {
		p := newProcess(t)
		p.reject(60, 5, p.now.Add(time.Minute), time.Second)
		p.now = p.now.Add(time.Second)
		p.send()
		assert.Equal(t, 10*time.Second, p.blocked().Wake.Sub(p.now))
		p.now = p.now.Add(10 * time.Second)
		p.send()
		p.now = p.now.Add(time.Hour)
		p.blocked()
	})
	t.Run("the wait after a probe without a response doubles up to a second", func(t *testing.T) {
		p := newProcess(t)
		var waits []time.Duration
		for range 6 {
			p.Settle(p.send(), &quota.Observation{Sent: p.now}, p.now)
			wake := p.blocked().Wake
			waits = append(waits, wake.Sub(p.now))
			p.now = wake
		}
		ms := time.Millisecond
		assert.Equal(t, []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1000 * ms, 1000 * ms}, waits)
	})
}

func TestBudgetLockoutOfSlidingWindows(t *testing.T) {
	none := time.Time{}
	t.Run("short lockouts in a row without headers become half a minute", func(t *testing.T) {
		for _, test := range []struct{ gap, retryAfter, want time.Duration }{
			{0, 10 * time.Second, 30 * time.Second},
			{59 * time.Second, 10 * time.Second, 30 * time.Second},
			{time.Minute, 10 * time.Second, 10 * time.Second}, // too long after the first
			{0, 40 * time.Second, 40 * time.Second},
		} {
			p := newProcess(t)
			p.reject(0, 0, none, 10*time.Second)
			assert.Equal(t, 10*time.Second, p.blocked().Until.Sub(p.now), "the first")
			p.now = p.now.Add(10*time.Second + test.gap)
			p.reject(0, 0, none, test.retryAfter)
			assert.Equal(t, test.want, p.blocked().Until.Sub(p.now), "%+v", test)
		}
	})
	t.Run("who shares a sliding window leaves others what becomes free for a minute", func(t *testing.T) {
		for others, want := range map[int]time.Duration{0: 30 * time.Second, 1: time.Minute} {
			p := newProcess(t)
			p.Processes = 0
			p.respond(p.send(), 60, 59, p.now.Add(time.Minute))
			p.now = p.now.Add(2 * time.Second)
			p.respond(p.send(), 60, 58-others, p.now.Add(time.Minute))
			p.reject(60, 5, p.now.Add(time.Minute), 30*time.Second)
			assert.Equal(t, want, p.blocked().Until.Sub(p.now), "%d others", others)
		}
	})
}

func TestBudgetEarliest(t *testing.T) {
	p := newProcess(t)
	reset := p.open(10, 8)
	end := reset // a window of a minute that was open at the first response
	for before, want := range map[int]time.Time{
		0: p.now, 7: p.now, 8: end, 17: end, 18: end.Add(time.Minute), 28: end.Add(2 * time.Minute),
	} {
		assert.Equal(t, want, p.Earliest(p.now, before, false), "%d before it", before)
	}
	p.now = end.Add(time.Second)
	p.respond(p.send(), 10, 0, p.now.Add(time.Minute))
	p.now = p.now.Add(61 * time.Second) // the next one is a probe
	for before, want := range map[int]time.Duration{0: 0, 19: 0, 20: time.Minute, 30: 2 * time.Minute} {
		assert.Equal(t, want, p.Earliest(p.now, before, false).Sub(p.now), "%d before the one after a probe", before)
	}
}

// The second response narrows what the Date of the first showed about the service's clock.
func TestBudgetClock(t *testing.T) {
	for _, test := range []struct{ gap, ahead, want time.Duration }{
		{900 * time.Millisecond, 0, time.Second + 90*time.Microsecond},  // a Date without its fraction; drift
		{time.Second, -time.Second, time.Second + 100*time.Microsecond}, // may be the same clock
		{time.Second, time.Second, 0},
		{time.Second, -2 * time.Second, 3 * time.Second}, // the clock was set
		{time.Second, 5 * time.Second, -4 * time.Second},
	} {
		p := newProcess(t)
		reset := p.now.Add(40 * time.Second)
		p.respond(p.send(), 10, 5, reset)
		p.now = p.now.Add(test.gap)
		p.Settle(p.send(), &quota.Observation{
			Sent: p.now, Received: p.now, StatusCode: http.StatusOK, Date: p.now.Truncate(time.Second).Add(test.ahead),
			RateLimit: quota.RateLimit{Limit: 10, Remaining: 0, Reset: reset},
		}, p.now)
		assert.Equal(t, test.want, p.blocked().Until.Sub(reset), "%+v", test)
	}
}
