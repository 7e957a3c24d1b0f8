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
	t.Run("an eighth is on its way while nothing is known of others", func(t *testing.T) {
		d := newSharedDesk(t)
		d.answer(d.send(), 60, 59, d.now.Add(time.Minute))
		for range 7 {
			d.send()
		}
		assert.Equal(t, quota.ForResponse, d.blocked().Reason)
	})
	t.Run("a request that is late leaves its place and keeps its reservation", func(t *testing.T) {
		d := newSharedDesk(t)
		d.answer(d.send(), 60, 59, d.now.Add(time.Minute))
		for range 7 {
			d.send()
		}
		wake := d.blocked().Wake
		assert.LessOrEqual(t, wake.Sub(d.now), time.Second)
		d.now = wake
		for range 7 {
			d.send()
		}
		assert.Equal(t, 14, d.InFlight())
	})
	t.Run("what others have on their way is left to them", func(t *testing.T) {
		d := newSharedDesk(t)
		reset := d.now.Add(time.Minute)
		d.answer(d.send(), 60, 59, reset)
		d.answer(d.send(), 60, 5, reset) // 53 of others while ours was on its way
		assert.Equal(t, quota.Reason(quota.Minute), d.blocked().Reason)
	})
	t.Run("told of eight processes, seven requests are left to the others", func(t *testing.T) {
		d := newDesk(t)
		d.Processes = 8
		d.answer(d.send(), 60, 8, d.now.Add(30*time.Second)) // the window has been open for half a minute
		d.send()
		assert.Equal(t, quota.Reason(quota.Minute), d.blocked().Reason)
	})
}

func TestBudgetReopen(t *testing.T) {
	d := newDesk(t)
	d.Settle(d.send(), &quota.Observation{
		Sent: d.now, Received: d.now, StatusCode: http.StatusTooManyRequests, RetryAfter: 24 * time.Hour, Date: d.now,
		RateLimit: quota.RateLimit{Limit: 60, Reset: d.now.Add(time.Minute)},
	}, d.now)
	require.Equal(t, quota.Reason(quota.Ban), d.blocked().Reason)
	d.Reopen()
	asked := d.send()
	assert.Equal(t, quota.ForResponse, d.blocked().Reason, "one asks, the others wait for its response")
	d.answer(asked, 60, 59, d.now.Add(time.Minute))
	d.send()
	d.send()
}

func TestBudgetBackground(t *testing.T) {
	d := newDesk(t)
	d.Reserve = 10
	d.open(60, 10)
	for range 4 {
		_, _, ok := d.Admit(d.now, true)
		require.True(t, ok)
	}
	_, w, ok := d.Admit(d.now, true)
	require.False(t, ok, "a tenth of the window is left to the others")
	assert.Equal(t, quota.Reason(quota.Minute), w.Reason)
	for range 6 {
		d.send()
	}
}

// TestBudgetClocks has the wall clock be ahead of the monotonic one, as after a machine was
// suspended.
func TestBudgetClocks(t *testing.T) {
	d := newDesk(t)
	d.now = time.Now() // with a monotonic reading
	d.answer(d.send(), 60, 0, d.now.Add(time.Minute))
	until := d.blocked().Until
	d.now = until.Round(0).Add(time.Second) // of the wall clock alone
	d.send()
	assert.False(t, d.Earliest(d.now, 0, false).Before(d.now))
}
