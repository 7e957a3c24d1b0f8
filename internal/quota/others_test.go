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
	t.Run("an eighth may be in flight while nothing is known about others", func(t *testing.T) {
		p := newSharedProcess(t)
		p.respond(p.send(), 60, 59, p.now.Add(time.Minute))
		for range 7 {
			p.send()
		}
		assert.Equal(t, quota.ForResponse, p.blocked().Reason)
	})
	t.Run("a late request leaves its place and keeps its reservation", func(t *testing.T) {
		p := newSharedProcess(t)
		p.respond(p.send(), 60, 59, p.now.Add(time.Minute))
		for range 7 {
			p.send()
		}
		wake := p.blocked().Wake
		assert.LessOrEqual(t, wake.Sub(p.now), time.Second)
		p.now = wake
		for range 7 {
			p.send()
		}
		assert.Equal(t, 14, p.InFlight())
	})
	t.Run("the requests that others have in flight are left to them", func(t *testing.T) {
		p := newSharedProcess(t)
		reset := p.now.Add(time.Minute)
		p.respond(p.send(), 60, 59, reset)
		p.respond(p.send(), 60, 5, reset) // 53 requests of others while ours was in flight
		assert.Equal(t, quota.Reason(quota.Minute), p.blocked().Reason)
	})
	t.Run("with Processes 8, seven requests are left to the others", func(t *testing.T) {
		p := newProcess(t)
		p.Processes = 8
		p.respond(p.send(), 60, 8, p.now.Add(30*time.Second)) // the window has been open for half a minute
		p.send()
		assert.Equal(t, quota.Reason(quota.Minute), p.blocked().Reason)
	})
}

func TestBudgetReopen(t *testing.T) {
	ban := func(p *process) {
		p.t.Helper()
		p.Settle(p.send(), &quota.Observation{
			Sent: p.now, Received: p.now, StatusCode: http.StatusTooManyRequests, RetryAfter: 24 * time.Hour, Date: p.now,
			RateLimit: quota.RateLimit{Limit: 60, Reset: p.now.Add(time.Minute)},
		}, p.now)
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
		p.open(60, 10)
		assert.False(t, p.Reopen(p.now))
		p.send()
		p.send()
	})
	t.Run("opens a window that is used up", func(t *testing.T) {
		p := newProcess(t)
		p.open(60, 0)
		p.blocked()
		assert.True(t, p.Reopen(p.now))
		p.send()
		p.blocked()
	})
	t.Run("lets requests go ahead ever more rarely, until one succeeds", func(t *testing.T) {
		p := newProcess(t)
		ban(p)
		var after []int // minutes after the request before
		for begun, last := p.now, p.now; p.now.Sub(begun) < 90*time.Minute; p.now = p.now.Add(time.Second) {
			if p.Reopen(p.now) {
				ban(p)
				after = append(after, int(p.now.Sub(last).Minutes()))
				last = p.now
			}
		}
		assert.Equal(t, []int{0, 1, 2, 4, 8, 16, 16, 16, 16}, after)
		p.now = p.now.Add(16 * time.Minute)
		require.True(t, p.Reopen(p.now))
		p.respond(p.send(), 60, 59, p.now.Add(time.Minute))
		ban(p)
		assert.True(t, p.Reopen(p.now))
	})
}

func TestBudgetBackground(t *testing.T) {
	p := newProcess(t)
	p.Reserve = 10
	p.open(60, 10)
	for range 4 {
		_, _, ok := p.Admit(p.now, true)
		require.True(t, ok)
	}
	_, w, ok := p.Admit(p.now, true)
	require.False(t, ok, "a tenth of the window is left to the others")
	assert.Equal(t, quota.Reason(quota.Minute), w.Reason)
	for range 6 {
		p.send()
	}
}

// TestBudgetClocks has a wall clock ahead of the monotonic one, as after a machine was suspended.
func TestBudgetClocks(t *testing.T) {
	p := newProcess(t)
	p.now = time.Now() // with a monotonic reading
	p.respond(p.send(), 60, 0, p.now.Add(time.Minute))
	until := p.blocked().Until
	p.now = until.Round(0).Add(time.Second) // of the wall clock alone
	p.send()
	assert.False(t, p.Earliest(p.now, 0, false).Before(p.now))
}
