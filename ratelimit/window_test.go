package ratelimit

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestOutcomeEnds tests single outcomes. TestRules has more rows of lockouts, for rules 3 and 5.
func TestOutcomeEnds(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 5e8, time.UTC)
	w := func(remaining int, untilReset time.Duration) Window {
		return Window{Limit: 60, Remaining: remaining, Reset: now.Truncate(time.Second).Add(untilReset)}
	}
	for _, row := range []struct {
		name                       string
		window                     Window
		retryAfter                 time.Duration
		streak                     int
		windowEnd, lockoutEnd      time.Duration
		windowLimit, lockoutReason Reason
	}{
		{"a minute", w(0, time.Minute), 9 * time.Second, 1, time.Minute, time.Minute, ReasonMinute, ReasonMinute},
		{"a limit that is not in the headers", w(9, time.Hour), time.Second, 1,
			time.Hour + time.Second, time.Second, ReasonDay, ReasonMinute},
		{"a limit of 0", Window{Reset: w(0, 40*time.Second).Reset}, 0, 1, 0, 41 * time.Second, "", ReasonMinute},
	} {
		o := Outcome{Sent: now, Received: now, Date: now.Truncate(time.Second), StatusCode: http.StatusTooManyRequests,
			Window: row.window, RetryAfter: row.retryAfter}
		end, limit := o.WindowEnd()
		assert.Equal(t, row.windowLimit, limit, row.name)
		assert.True(t, limit == "" && end.IsZero() || end.Equal(now.Add(row.windowEnd)), "%s: %v", row.name, end)
		end, limit = o.LockoutEnd(row.streak)
		assert.Equal(t, row.lockoutReason, limit, row.name)
		assert.Equal(t, row.lockoutEnd, end.Sub(now), row.name)
	}
}
