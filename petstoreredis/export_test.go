package petstoreredis

import "time"

// SetClock replaces the wall clock, for tests with a machine that is suspended.
func (l *Limiter) SetClock(now func() time.Time) { l.now = now }

// Keys returns how many keys the limiter remembers.
func (l *Limiter) Keys() int { return len(l.queues) }
