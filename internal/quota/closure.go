package quota

import "time"

// resetMargin is added to each Reset once a window has ended later than its Reset. One second is
// the grain of Reset.
const resetMargin = time.Second

// Scope is the limit that refuses a request. The zero Scope means that it is not known.
type Scope string

// The limits of section 8.
const (
	Minute Scope = "minute"
	Day    Scope = "day"
	Ban    Scope = "ban"
)

// gate closes the key after a 429 (rule 5).
type gate struct {
	until    time.Time // nothing is sent before this time
	scope    Scope     // the limit that closed the gate
	rejected bool      // since the last 429, no request sent after it has succeeded
	streak   int       // closures in a row
	closures int       // number of closures
	last     time.Time // when the last 429 came
	reopened int       // uses of Reopen since a request has succeeded
}

// Reopen allows one probe although the key is closed, and reports whether it does (rule 9). It does
// not if the key is open. After a probe that Reopen allowed was rejected too, it takes effect a
// window later, then 2 windows, up to 16: the callers may call it on each refusal, and a service
// that bans keys counts those requests.
func (b *Budget) Reopen(now time.Time) bool {
	b.observe(now)
	g := &b.gate
	closed := !Passed(now, g.until) || b.epoch > 0 && !Passed(now, b.end) && b.left() <= b.reserve(false)
	if !closed || g.reopened > 0 && !Passed(now, g.last.Add(windowLength<<min(g.reopened-1, 4))) {
		return false
	}
	g.until, g.scope, g.streak = time.Time{}, "", 0
	g.rejected = true // so that the next one is a probe
	g.reopened++
	b.changes++
	return true
}

// reject closes the gate after a 429.
func (b *Budget) reject(s Slot, o Observation) {
	if s.closures == b.gate.closures { // not a further 429 to requests sent before the closure
		b.gate.closures++
		b.gate.streak++
	}
	if !b.gate.rejected {
		b.unexpected429(s, &o)
	}
	if b.trickles(&o) {
		o.RetryAfter = windowLength / 2
	}
	b.gate.rejected, b.gate.last = true, Later(b.gate.last, o.Received)
	until, scope := b.closedUntil(&o)
	if until.After(b.gate.until) {
		b.gate.until, b.gate.scope = until, scope
		b.changes++
	}
}

// unexpected429 learns from a 429 to a request for which there should have been room.
func (b *Budget) unexpected429(s Slot, o *Observation) {
	switch {
	case s.probe && s.epoch > 0: // the window was taken for over, but was not
		b.margin = resetMargin
		b.distrust = b.distrust || !b.offset.Known
	case !s.probe && o.RateLimit.Limit > 0 && o.RateLimit.Remaining == 0 && o.RetryAfter <= windowLength:
		b.others.alone = crowded // another process used up the window
	}
}

// trickles reports whether short closures follow each other, without headers. The service then
// counts in a sliding window, in which requests become free one by one.
func (b *Budget) trickles(o *Observation) bool {
	return b.epoch == 0 && b.gate.closures > 1 && o.Received.Sub(b.gate.until) < windowLength &&
		o.RetryAfter > 0 && o.RetryAfter < windowLength/2
}

// closedUntil returns how long the gate stays closed after a 429, and the limit that closed it.
func (b *Budget) closedUntil(o *Observation) (time.Time, Scope) {
	grain := b.grain()
	if o.RetryAfter > 0 {
		grain = 0 // Retry-After is rounded up
	}
	end, usable := b.endWithin(o, o.Received, grain)
	if o.RateLimit.Limit <= 0 || !usable {
		end = time.Time{}
	}
	least := o.Received.Add(b.backoff(end.IsZero() && o.RetryAfter <= 0))
	return Later(OpensAt(o, end), least), ScopeOf(o, end)
}

// OpensAt returns the time from which a 429, whose window ends at end, allows the next request;
// zero if the response does not say. The end counts if the window is used up, or if there is no
// Retry-After.
func OpensAt(o *Observation, end time.Time) time.Time {
	var at time.Time
	if o.RetryAfter > 0 {
		at = o.Received.Add(o.RetryAfter)
	}
	if o.RateLimit.Remaining == 0 || at.IsZero() {
		at = Later(at, end)
	}
	return at
}

// ScopeOf returns the limit of a 429 whose window ends at end; a zero end means that it is not
// known.
func ScopeOf(o *Observation, end time.Time) Scope {
	const slack = 2 * time.Second // Retry-After and Reset are both rounded
	opens := OpensAt(o, end)
	if end.IsZero() {
		end = o.Received.Add(windowLength)
	}
	switch {
	case opens.Sub(end) > slack:
		return Ban
	case opens.Sub(o.Received) > windowLength+slack:
		return Day
	}
	return Minute
}

// backoff returns the shortest wait after a 429. It is 0 after the first 429 in a row that has
// Retry-After or Reset. Without them (unknown), it is a window, doubled up to 16 windows; else 1 s,
// doubled up to a minute.
func (b *Budget) backoff(unknown bool) time.Duration {
	switch {
	case unknown:
		return windowLength << min(b.gate.streak-1, 4)
	case b.gate.streak > 1:
		return min(time.Second<<min(b.gate.streak-2, 6), windowLength)
	}
	return 0
}
