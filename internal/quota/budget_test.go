package quota_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/quota"
)

// desk drives a budget by hand, one second after the other.
type desk struct {
	t   *testing.T
	now time.Time
	quota.Budget
}

// newDesk is a desk of a process that has the key for itself.
func newDesk(t *testing.T) *desk {
	return &desk{t: t, now: time.Unix(1_000_000_020, 0), Budget: quota.Budget{Processes: 1}}
}

// newSharedDesk is a desk of a process that does not know who else uses the key.
func newSharedDesk(t *testing.T) *desk {
	d := newDesk(t)
	d.Processes = 0
	return d
}

func (d *desk) send() quota.Slot {
	d.t.Helper()
	s, w, ok := d.Admit(d.now, false)
	require.True(d.t, ok, "%+v", w)
	return s
}

func (d *desk) blocked() quota.Wait {
	d.t.Helper()
	_, w, ok := d.Admit(d.now, false)
	require.False(d.t, ok)
	return w
}

func (d *desk) answer(s quota.Slot, limit, remaining int, reset time.Time) {
	d.Settle(s, &quota.Observation{
		Sent: d.now, Received: d.now, StatusCode: http.StatusOK, Date: d.now.Truncate(time.Second),
		RateLimit: quota.RateLimit{limit, remaining, reset},
	}, d.now)
}

// open answers the cold start of a window that ends after a minute, and looks around.
func (d *desk) open(limit, remaining int) time.Time {
	reset := d.now.Add(time.Minute)
	d.answer(d.send(), limit, remaining+1, reset)
	d.answer(d.send(), limit, remaining, reset)
	return reset
}

func TestBudget(t *testing.T) {
	t.Run("admits no more requests than there is room for", func(t *testing.T) {
		d := newDesk(t)
		d.open(10, 8)
		for range 8 {
			d.send()
		}
		assert.Equal(t, quota.Reason(quota.Minute), d.blocked().Reason)
	})
	t.Run("an earlier response never raises what a later one lowered", func(t *testing.T) {
		d := newDesk(t)
		reset := d.open(10, 8)
		first, second := d.send(), d.send()
		d.answer(second, 10, 5, reset) // somebody else took one
		d.answer(first, 10, 7, reset)
		assert.Equal(t, 5, d.RateLimit().Remaining)
	})
	t.Run("a request without a response counts as spent until a later response", func(t *testing.T) {
		d := newDesk(t)
		reset := d.open(10, 8)
		lost, kept := d.send(), d.send()
		d.Settle(lost, &quota.Observation{Sent: d.now}, d.now)
		d.answer(kept, 10, 7, reset)
		assert.Equal(t, 6, d.RateLimit().Remaining)
		d.answer(d.send(), 10, 6, reset) // the lost one may still be on its way
		assert.Equal(t, 5, d.RateLimit().Remaining)
		d.now = d.now.Add(time.Second)
		d.answer(d.send(), 10, 5, reset) // it never arrived, or was counted
		assert.Equal(t, 5, d.RateLimit().Remaining)
	})
	t.Run("a request that was not sent costs nothing", func(t *testing.T) {
		d := newDesk(t)
		d.open(10, 8)
		d.Settle(d.send(), &quota.Observation{}, d.now)
		assert.Equal(t, 8, d.RateLimit().Remaining)
		assert.Zero(t, d.InFlight())
	})
	t.Run("a response without headers changes no limit", func(t *testing.T) {
		d := newDesk(t)
		reset := d.open(10, 8)
		d.Settle(d.send(), &quota.Observation{Sent: d.now, Received: d.now, StatusCode: http.StatusBadGateway}, d.now)
		assert.Equal(t, quota.RateLimit{10, 7, reset}, d.RateLimit())
	})
}

func TestBudgetWindow(t *testing.T) {
	t.Run("a late response of an old window is ignored", func(t *testing.T) {
		d := newDesk(t)
		old := d.open(10, 8)
		late := d.send()
		d.now = d.now.Add(70 * time.Second)
		d.answer(d.send(), 10, 9, d.now.Add(time.Minute))
		d.answer(late, 10, 0, old)
		assert.Equal(t, 9, d.RateLimit().Remaining)
	})
	t.Run("follows a higher plan inside a window", func(t *testing.T) {
		d := newDesk(t)
		reset := d.open(10, 8)
		d.answer(d.send(), 100, 97, reset)
		assert.Equal(t, 97, d.RateLimit().Remaining)
	})
	t.Run("recognises the day by its Reset", func(t *testing.T) {
		d := newDesk(t)
		d.answer(d.send(), 1000, 0, d.now.Add(5*time.Hour))
		assert.Equal(t, quota.Reason(quota.Day), d.blocked().Reason)
		d.now = d.now.Add(5*time.Hour + time.Second)
		d.send()
		assert.Equal(t, quota.ForResponse, d.blocked().Reason)
	})
	t.Run("is independent of a skewed clock", func(t *testing.T) {
		for _, skew := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute} {
			d := newDesk(t)
			d.Settle(d.send(), &quota.Observation{
				Sent: d.now, Received: d.now, StatusCode: http.StatusOK, Date: d.now.Add(skew),
				RateLimit: quota.RateLimit{10, 0, d.now.Add(skew + 40*time.Second)},
			}, d.now)
			assert.Equal(t, 41*time.Second, d.blocked().Until.Sub(d.now), "skew %v", skew)
		}
	})
	t.Run("takes an absurd Reset for a minute", func(t *testing.T) {
		d := newDesk(t)
		for _, reset := range []time.Time{{}, time.Unix(0, 0), d.now, time.UnixMilli(0).AddDate(50_000, 0, 0)} {
			d.Budget = quota.Budget{}
			d.answer(d.send(), 10, 0, reset)
			assert.Equal(t, time.Minute, d.blocked().Until.Sub(d.now), "Reset %v", reset)
		}
	})
	t.Run("adds a margin after a Reset that was early", func(t *testing.T) {
		d := newDesk(t)
		d.answer(d.send(), 10, 0, d.now.Add(30*time.Second))
		d.now = d.now.Add(31 * time.Second)
		d.Settle(d.send(), &quota.Observation{
			Sent: d.now, Received: d.now, StatusCode: http.StatusTooManyRequests, RetryAfter: time.Second,
			RateLimit: quota.RateLimit{10, 0, d.now}, Date: d.now,
		}, d.now)
		d.now = d.now.Add(time.Second)
		d.answer(d.send(), 10, 0, d.now.Add(30*time.Second))
		assert.Equal(t, 32*time.Second, d.blocked().Until.Sub(d.now))
	})
	t.Run("a sliding window without a Reset has room a minute after its oldest request", func(t *testing.T) {
		d := newDesk(t)
		reset := d.now.Add(-time.Hour)
		first := d.now
		for remaining := 2; remaining >= 0; remaining-- {
			d.answer(d.send(), 3, remaining, reset)
			d.now = d.now.Add(10 * time.Second)
		}
		assert.Equal(t, first.Add(time.Minute), d.blocked().Until)
		d.now = first.Add(time.Minute)
		d.answer(d.send(), 3, 0, reset) // one has left the window, and this one come in
		assert.Equal(t, first.Add(70*time.Second), d.blocked().Until)
	})
	t.Run("a minute of the wall clock ends on its Reset", func(t *testing.T) {
		d := newDesk(t)
		reset := d.now.Truncate(time.Minute).Add(time.Minute)
		d.now = reset.Add(-40 * time.Second) // the window is older than the request that opened it for us
		d.answer(d.send(), 10, 0, reset)
		assert.Equal(t, reset, d.blocked().Until)
		d.now = reset
		d.answer(d.send(), 10, 0, reset.Add(time.Minute))
		assert.Equal(t, reset.Add(time.Minute), d.blocked().Until)
	})
}
