package quota_test

import (
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/quota"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// process is a process with one budget, in its own time.
type process struct {
	t   *testing.T
	now time.Time
	quota.Budget
}

// newProcess returns a process that knows that no other process uses the key.
func newProcess(t *testing.T) *process {
	return &process{t: t, now: time.Unix(1_000_000_020, 0), Budget: quota.Budget{Processes: 1}}
}

// newSharedProcess returns a process that does not know whether others use the key. The first of 60
// requests has opened a window until reset.
func newSharedProcess(t *testing.T) (p *process, reset time.Time) {
	p = newProcess(t)
	p.Processes = 0
	reset = p.now.Add(time.Minute)
	p.respond(p.send(), 60, 59, reset)
	return p, reset
}

func (p *process) send() quota.Slot {
	p.t.Helper()
	s, w, ok := p.Admit(p.now, false)
	require.True(p.t, ok, "%+v", w)
	return s
}

func (p *process) blocked() quota.Wait {
	p.t.Helper()
	_, w, ok := p.Admit(p.now, false)
	require.False(p.t, ok)
	return w
}

func (p *process) respond(s quota.Slot, limit, remaining int, reset time.Time) {
	p.Settle(s, &quota.Observation{
		Sent: p.now, Received: p.now, StatusCode: http.StatusOK, Date: p.now.Truncate(time.Second),
		RateLimit: quota.RateLimit{limit, remaining, reset},
	}, p.now)
}

// reject has the next request get a 429.
func (p *process) reject(limit, remaining int, reset time.Time, retryAfter time.Duration) {
	p.t.Helper()
	p.Settle(p.send(), &quota.Observation{
		Sent: p.now, Received: p.now, StatusCode: http.StatusTooManyRequests, RetryAfter: retryAfter,
		Date: p.now.Truncate(time.Second), RateLimit: quota.RateLimit{limit, remaining, reset},
	}, p.now)
}

// open gets the first two responses of a window that ends after a minute.
func (p *process) open(limit, remaining int) time.Time {
	reset := p.now.Add(time.Minute)
	p.respond(p.send(), limit, remaining+1, reset)
	p.respond(p.send(), limit, remaining, reset)
	return reset
}

func TestBudget(t *testing.T) {
	t.Run("admits no more requests than there is room for", func(t *testing.T) {
		p := newProcess(t)
		p.open(10, 8)
		for range 8 {
			p.send()
		}
		assert.Equal(t, quota.Reason(quota.Minute), p.blocked().Reason)
	})
	t.Run("an earlier response never raises what a later one lowered", func(t *testing.T) {
		p := newProcess(t)
		reset := p.open(10, 8)
		first, second := p.send(), p.send()
		p.respond(second, 10, 5, reset) // another process sent one request
		p.respond(first, 10, 7, reset)
		assert.Equal(t, 5, p.RateLimit().Remaining)
	})
	t.Run("a Remaining that counts requests in flight already is no used-up window", func(t *testing.T) {
		p := newProcess(t)
		reset := p.now.Add(time.Minute)
		p.respond(p.send(), 4, 3, reset)
		first, second := p.send(), p.send()
		p.respond(second, 4, 1, reset) // the service has counted first, too
		assert.Equal(t, quota.ForResponse, p.blocked().Reason)
		assert.Equal(t, p.now, p.Earliest(p.now, 0, false))
		p.respond(first, 4, 2, reset)
		p.send()
		assert.Equal(t, quota.Reason(quota.Minute), p.blocked().Reason)
	})
	t.Run("a request without a response counts as spent until a later response", func(t *testing.T) {
		p := newProcess(t)
		reset := p.open(10, 8)
		lost, kept := p.send(), p.send()
		p.Settle(lost, &quota.Observation{Sent: p.now}, p.now)
		p.respond(kept, 10, 7, reset)
		assert.Equal(t, 6, p.RateLimit().Remaining)
		p.respond(p.send(), 10, 6, reset) // the lost request may still be in flight
		assert.Equal(t, 5, p.RateLimit().Remaining)
		p.now = p.now.Add(time.Second)
		p.respond(p.send(), 10, 5, reset) // the lost request never arrived, or this response counts it
		assert.Equal(t, 5, p.RateLimit().Remaining)
	})
	t.Run("a request that was not sent costs nothing", func(t *testing.T) {
		p := newProcess(t)
		p.open(10, 8)
		p.Settle(p.send(), &quota.Observation{Received: p.now}, p.now)
		assert.Equal(t, 8, p.RateLimit().Remaining)
		assert.Zero(t, p.InFlight())
	})
	t.Run("a request that was not tried changes nothing", func(t *testing.T) {
		p := newProcess(t)
		for range 10 {
			p.Settle(p.send(), &quota.Observation{}, p.now)
		}
		p.send()
		p.blocked()
		for range 10 {
			p.now = p.now.Add(time.Second) // without a response, so that another one may follow
			p.Settle(p.send(), &quota.Observation{}, p.now)
			p.send()
			p.blocked()
		}
	})
	t.Run("up to four requests that cannot be sent go ahead together", func(t *testing.T) {
		p := newProcess(t)
		for range 5 {
			p.Settle(p.send(), &quota.Observation{Received: p.now}, p.now)
		}
		for range 4 {
			p.send()
		}
		p.blocked()
	})
	t.Run("a caller that gives up delays no other", func(t *testing.T) {
		p := newProcess(t)
		for range 20 {
			p.Settle(p.send(), &quota.Observation{Sent: p.now, Abandoned: true}, p.now)
		}
		p.send()
	})
	t.Run("a response without headers changes no limit", func(t *testing.T) {
		p := newProcess(t)
		reset := p.open(10, 8)
		p.Settle(p.send(), &quota.Observation{Sent: p.now, Received: p.now, StatusCode: http.StatusBadGateway}, p.now)
		assert.Equal(t, quota.RateLimit{10, 7, reset}, p.RateLimit())
	})
}

func TestBudgetWindow(t *testing.T) {
	t.Run("a late response of an old window is ignored", func(t *testing.T) {
		p := newProcess(t)
		old := p.open(10, 8)
		late := p.send()
		p.now = p.now.Add(70 * time.Second)
		p.respond(p.send(), 10, 9, p.now.Add(time.Minute))
		p.respond(late, 10, 0, old)
		assert.Equal(t, 9, p.RateLimit().Remaining)
	})
	t.Run("follows a higher plan inside a window", func(t *testing.T) {
		p := newProcess(t)
		reset := p.open(10, 8)
		p.respond(p.send(), 100, 97, reset)
		assert.Equal(t, 97, p.RateLimit().Remaining)
	})
	t.Run("recognises the day by its Reset", func(t *testing.T) {
		p := newProcess(t)
		p.respond(p.send(), 1000, 0, p.now.Add(5*time.Hour))
		assert.Equal(t, quota.Reason(quota.Day), p.blocked().Reason)
		p.now = p.now.Add(5*time.Hour + time.Second)
		p.send()
		assert.Equal(t, quota.ForResponse, p.blocked().Reason)
	})
	t.Run("is independent of a skewed clock", func(t *testing.T) {
		for _, skew := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute} {
			t.Run(skew.String(), func(t *testing.T) {
				p := newProcess(t)
				p.Settle(p.send(), &quota.Observation{
					Sent: p.now, Received: p.now, StatusCode: http.StatusOK, Date: p.now.Add(skew),
					RateLimit: quota.RateLimit{10, 0, p.now.Add(skew + 40*time.Second)},
				}, p.now)
				assert.Equal(t, 41*time.Second, p.blocked().Until.Sub(p.now), "skew %v", skew)
			})
		}
	})
	t.Run("takes an absurd Reset for a minute", func(t *testing.T) {
		p := newProcess(t)
		for _, reset := range []time.Time{{}, time.Unix(0, 0), p.now, time.UnixMilli(0).AddDate(50_000, 0, 0)} {
			p.Budget = quota.Budget{}
			p.respond(p.send(), 10, 0, reset)
			assert.Equal(t, time.Minute, p.blocked().Until.Sub(p.now), "Reset %v", reset)
		}
	})
	t.Run("adds a margin after a Reset that was early", func(t *testing.T) {
		p := newProcess(t)
		p.respond(p.send(), 10, 0, p.now.Add(30*time.Second))
		p.now = p.now.Add(31 * time.Second)
		p.reject(10, 0, p.now, time.Second)
		p.now = p.now.Add(time.Second)
		p.respond(p.send(), 10, 0, p.now.Add(30*time.Second))
		assert.Equal(t, 32*time.Second, p.blocked().Until.Sub(p.now))
	})
	t.Run("a sliding window without a Reset has room a minute after its oldest request", func(t *testing.T) {
		p := newProcess(t)
		reset := p.now.Add(-time.Hour)
		first := p.now
		for remaining := 2; remaining >= 0; remaining-- {
			p.respond(p.send(), 3, remaining, reset)
			p.now = p.now.Add(10 * time.Second)
		}
		assert.Equal(t, first.Add(time.Minute), p.blocked().Until)
		p.now = first.Add(time.Minute)
		p.respond(p.send(), 3, 0, reset) // the oldest request has left the window, and this one is in it
		assert.Equal(t, first.Add(70*time.Second), p.blocked().Until)
	})
	t.Run("takes no room for each request without a Reset", func(t *testing.T) {
		p := newProcess(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range 100_000 {
			slot, _, _ := p.Admit(p.now, false)
			p.respond(slot, 1_000_000, 999_999-i, p.now.Add(-time.Hour))
			p.now = p.now.Add(500 * time.Microsecond)
		}
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "bytes")
	})
	t.Run("a minute of the wall clock ends on its Reset", func(t *testing.T) {
		p := newProcess(t)
		reset := p.now.Truncate(time.Minute).Add(time.Minute)
		p.now = reset.Add(-40 * time.Second) // the window is older than the first request
		p.respond(p.send(), 10, 0, reset)
		assert.Equal(t, reset, p.blocked().Until)
		p.now = reset
		p.respond(p.send(), 10, 0, reset.Add(time.Minute))
		assert.Equal(t, reset.Add(time.Minute), p.blocked().Until)
	})
}
