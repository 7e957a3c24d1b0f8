package petstore

import "time"

// resetMargin is how much later than told a window ends if it did not end when told.
const resetMargin = time.Second

// LimitScope says which limit refused a request, or would have: the minute's, the day's or a ban
// (section 8). It is inferred, since the service does not report it.
//
// An exhausted window that was more than a minute from its Reset when it was first seen is the
// day's, any other the minute's. After a 429 whose Retry-After reaches beyond the Reset of the same
// response, or beyond a minute if that had none, it is a ban; a ban that ends before the window
// cannot be told from it. The zero LimitScope means that it is not known.
type LimitScope string

// The limits of section 8.
const (
	ScopeMinute LimitScope = "minute"
	ScopeDay    LimitScope = "day"
	ScopeBan    LimitScope = "ban"
)

// closed tells what keeps a request from going before at, zero if nothing that is known.
func (b *budget) closed(now, at time.Time) LimitScope {
	switch {
	case now.Before(b.gate):
		return b.closure
	case at.After(now):
		return b.window.closure()
	}
	return ""
}

// reject closes the gate after a 429.
func (b *budget) reject(s slot, o Observation) {
	if s.closures == b.closures { // the first of those that were on their way together
		b.closures++
		b.streak++
	}
	if !b.rejected {
		b.surprise(s, o)
	}
	if b.trickles(o) {
		o.RetryAfter, b.trickle = windowLength/2, true
	}
	b.rejected = true
	gate, closure := b.closedUntil(o)
	if gate.After(b.gate) {
		b.gate, b.closure = gate, closure
		b.changes++
	}
}

// surprise draws the lesson from a 429 to a request for which there should have been room.
func (b *budget) surprise(s slot, o Observation) {
	switch {
	case s.probe && s.epoch > 0: // the window was over, and it was not
		b.margin = resetMargin
		b.distrust = b.distrust || !b.offset.known
	case !s.probe && o.RateLimit.Limit > 0 && o.RateLimit.Remaining == 0:
		b.shared = true // somebody else took it
	}
}

// trickles reports whether closures are short and follow each other: requests come free one by one,
// and no header says how many are.
func (b *budget) trickles(o Observation) bool {
	return b.epoch == 0 && b.closures > 1 && o.Received.Sub(b.gate) < windowLength &&
		o.RetryAfter > 0 && o.RetryAfter < windowLength/2
}

// closedUntil is the latest time that a 429 asks to wait for, and why.
func (b *budget) closedUntil(o Observation) (time.Time, LimitScope) {
	grain := b.grain()
	if o.RetryAfter > 0 {
		grain = 0 // what Retry-After says is rounded up
	}
	end, usable := b.endWithin(&o, o.Received, grain)
	if o.RateLimit.Limit <= 0 || !usable {
		end = time.Time{}
	}
	least := o.Received.Add(b.backoff(end.IsZero() && o.RetryAfter <= 0))
	return later(opensAt(o, end), least), scopeOf(o, end)
}

// opensAt is when a 429 whose window ends at end allows the next request, zero if it does not say. The end
// counts if the window is what refused, or if nothing else is known.
func opensAt(o Observation, end time.Time) time.Time {
	var at time.Time
	if o.RetryAfter > 0 {
		at = o.Received.Add(o.RetryAfter)
	}
	if o.RateLimit.Remaining == 0 || at.IsZero() {
		at = later(at, end)
	}
	return at
}

// scopeOf tells what a 429 is for whose window ends at end, zero if it does not say.
func scopeOf(o Observation, end time.Time) LimitScope {
	const slack = 2 * time.Second // Retry-After and Reset are both rounded
	if end.IsZero() {
		end = o.Received.Add(windowLength)
	}
	switch {
	case o.Received.Add(o.RetryAfter).Sub(end) > slack:
		return ScopeBan
	case end.Sub(o.Received) > windowLength+slack:
		return ScopeDay
	}
	return ScopeMinute
}

// backoff is the least time to stay away after a 429: nothing after the first that says how long.
func (b *budget) backoff(unknown bool) time.Duration {
	switch {
	case unknown:
		return windowLength << min(b.streak-1, 4)
	case b.streak > 1:
		return min(time.Second<<min(b.streak-2, 6), windowLength)
	}
	return 0
}
