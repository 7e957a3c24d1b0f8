package quota

import "time"

// resetMargin is how much later than told a window ends if it did not end when told.
const resetMargin = time.Second

// Scope is the limit that refuses a request. The zero Scope means that it is not known.
type Scope string

// The limits of section 8.
const (
	Minute Scope = "minute"
	Day    Scope = "day"
	Ban    Scope = "ban"
)

// gate is closed after a 429 (rule 5).
type gate struct {
	until    time.Time // nothing is sent before
	scope    Scope     // what closed it
	rejected bool      // a 429 came, and no success to a request sent after it
	streak   int       // closures in a row
	closures int       // closures so far
	trickle  bool      // without headers, short closures follow each other
}

// reopen opens the gate for one request.
func (g *gate) reopen() {
	g.until, g.scope, g.streak = time.Time{}, "", 0
	g.rejected = true // which has one go ahead
}

// reject closes the gate after a 429.
func (b *Budget) reject(s Slot, o Observation) {
	if s.closures == b.gate.closures { // the first of those that were on their way together
		b.gate.closures++
		b.gate.streak++
	}
	if !b.gate.rejected {
		b.surprise(s, &o)
	}
	if b.trickles(&o) {
		o.RetryAfter, b.gate.trickle = windowLength/2, true
	}
	b.gate.rejected = true
	until, scope := b.closedUntil(&o)
	if until.After(b.gate.until) {
		b.gate.until, b.gate.scope = until, scope
		b.changes++
	}
}

// surprise draws the lesson from a 429 to a request for which there should have been room.
func (b *Budget) surprise(s Slot, o *Observation) {
	switch {
	case s.ahead && s.epoch > 0: // the window was over, and it was not
		b.margin = resetMargin
		b.distrust = b.distrust || !b.offset.known
	case !s.ahead && o.RateLimit.Limit > 0 && o.RateLimit.Remaining == 0:
		b.others.shared = true // somebody else took it
	}
}

// trickles reports whether closures are short and follow each other: requests come free one by one,
// and no header says how many are.
func (b *Budget) trickles(o *Observation) bool {
	return b.epoch == 0 && b.gate.closures > 1 && o.Received.Sub(b.gate.until) < windowLength &&
		o.RetryAfter > 0 && o.RetryAfter < windowLength/2
}

// closedUntil is the latest time that a 429 asks to wait for, and why.
func (b *Budget) closedUntil(o *Observation) (time.Time, Scope) {
	grain := b.grain()
	if o.RetryAfter > 0 {
		grain = 0 // what Retry-After says is rounded up
	}
	end, usable := b.endWithin(o, o.Received, grain)
	if o.RateLimit.Limit <= 0 || !usable {
		end = time.Time{}
	}
	least := o.Received.Add(b.backoff(end.IsZero() && o.RetryAfter <= 0))
	return later(OpensAt(o, end), least), ScopeOf(o, end)
}

// OpensAt is when a 429 whose window ends at end allows the next request, zero if it does not say. The end
// counts if the window is what refused, or if nothing else is known.
func OpensAt(o *Observation, end time.Time) time.Time {
	var at time.Time
	if o.RetryAfter > 0 {
		at = o.Received.Add(o.RetryAfter)
	}
	if o.RateLimit.Remaining == 0 || at.IsZero() {
		at = later(at, end)
	}
	return at
}

// ScopeOf is the limit that a 429 is for whose window ends at end, zero if it does not say.
func ScopeOf(o *Observation, end time.Time) Scope {
	const slack = 2 * time.Second // Retry-After and Reset are both rounded
	if end.IsZero() {
		end = o.Received.Add(windowLength)
	}
	switch {
	case o.Received.Add(o.RetryAfter).Sub(end) > slack:
		return Ban
	case end.Sub(o.Received) > windowLength+slack:
		return Day
	}
	return Minute
}

// backoff is the least time to stay away after a 429: nothing after the first that says how long.
func (b *Budget) backoff(unknown bool) time.Duration {
	switch {
	case unknown:
		return windowLength << min(b.gate.streak-1, 4)
	case b.gate.streak > 1:
		return min(time.Second<<min(b.gate.streak-2, 6), windowLength)
	}
	return 0
}
