package ratelimit

import "time"

// SetClock replaces the wall clock, for tests with a machine that is suspended.
func (l *Limiter) SetClock(now func() time.Time) { l.now = now }

// Idle reports whether no request waits or is in flight, and no timer runs.
func (l *Limiter) Idle() bool {
	idle := true
	for _, q := range l.keys {
		idle = idle && len(q.budget.inFlight)+len(q.queued)+q.waiting == 0 && q.timer == nil
	}
	return idle
}
