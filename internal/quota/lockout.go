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

// lockout is the time after a 429 in which the key sends nothing (rule 5).
type lockout struct {
	until    time.Time // nothing is sent before this time
	scope    Scope     // the limit of the 429
	rejected bool      // since the last 429, no request sent after it has succeeded
	streak   int       // lockouts in a row
	count    int       // lockouts so far
}

// Reopen allows one probe although the key is closed, and reports whether it does (rule 9). It does
// not if the key is open, or if a probe is in flight.
func (b *Budget) Reopen(now time.Time) bool {
	b.observe(now)
	l := &b.lockout
	usedUp := b.epoch > 0 && !l.rejected && !Passed(now, b.end) && b.left() <= b.reserve(false)
	if Passed(now, l.until) && !usedUp {
		return false
	}
	l.until, l.scope, l.streak = time.Time{}, "", 0
	l.rejected = true // so that the next one is a probe
	return true
}

// reject begins a lockout after a 429, or makes it longer.
func (b *Budget) reject(s Slot, o Observation) {
	l := &b.lockout
	if s.lockouts == l.count { // not a further 429 to requests sent before the lockout
		l.count++
		l.streak++
	}
	if !l.rejected {
		b.unexpected429(s, &o)
	}
	switch {
	case b.freesOneByOne(&o):
		o.RetryAfter = windowLength / 2
	case b.slides && b.isShared():
		// All processes that share a sliding window wait for the same request to leave it. The one
		// that got a 429 leaves what becomes free to the others.
		o.RetryAfter = max(o.RetryAfter, windowLength)
	}
	l.rejected = true
	if until, scope := b.lockedUntil(&o); until.After(l.until) {
		l.until, l.scope = until, scope
	}
}

// unexpected429 learns from a 429 to a request for which there should have been room.
func (b *Budget) unexpected429(s Slot, o *Observation) {
	switch {
	case s.probe && s.epoch > 0: // the window was assumed to be over, but was not
		b.margin = resetMargin
		b.distrust = b.distrust || !b.offset.known
	case !s.probe && o.RateLimit.Limit > 0 && o.RateLimit.Remaining == 0 && o.RetryAfter <= windowLength:
		b.others.trust = shared // another process used up the window
	}
}

// freesOneByOne reports whether short lockouts follow each other, without headers. The service then
// counts in a sliding window, in which requests become free one by one.
func (b *Budget) freesOneByOne(o *Observation) bool {
	return b.epoch == 0 && b.lockout.count > 1 && o.Received.Sub(b.lockout.until) < windowLength &&
		o.RetryAfter > 0 && o.RetryAfter < windowLength/2
}

// lockedUntil returns the end of the lockout after a 429, and the limit that causes it.
func (b *Budget) lockedUntil(o *Observation) (time.Time, Scope) {
	grain := b.grain()
	if o.RetryAfter > 0 {
		grain = 0 // Retry-After is rounded up
	}
	end, usable := b.endWithin(o, o.Received, grain)
	if o.RateLimit.Limit <= 0 || !usable {
		end = time.Time{}
	}
	least := o.Received.Add(b.backoff(end.IsZero() && o.RetryAfter <= 0))
	return Later(opensAt(o, end), least), scopeOf(o, end)
}

// After429 returns the time from which a 429 allows the next request, zero if it does not say, and the
// limit that causes it: as far as this response alone shows.
func After429(o *Observation) (opens time.Time, scope Scope) {
	end := o.RateLimit.Reset
	if !o.Date.IsZero() {
		end = o.Received.Add(end.Sub(o.Date))
	}
	if left := end.Sub(o.Received); o.RateLimit.Limit <= 0 || left <= 0 || left > longestWindow {
		end = time.Time{}
	}
	return opensAt(o, end), scopeOf(o, end)
}

// opensAt returns the time from which a 429, whose window ends at end, allows the next request;
// zero if the response does not say. The end counts if the window is used up, or if there is no
// Retry-After.
func opensAt(o *Observation, end time.Time) time.Time {
	var at time.Time
	if o.RetryAfter > 0 {
		at = o.Received.Add(o.RetryAfter)
	}
	if o.RateLimit.Remaining == 0 || at.IsZero() {
		at = Later(at, end)
	}
	return at
}

// scopeOf returns the limit of a 429 whose window ends at end; a zero end means that it is not
// known.
func scopeOf(o *Observation, end time.Time) Scope {
	const slack = 2 * time.Second // Retry-After and Reset are both rounded
	opens := opensAt(o, end)
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

// backoff returns the shortest lockout after a 429. It is 0 after the first 429 in a row that has
// Retry-After or Reset. Without them (unknown), it is a window, doubled up to 16 windows; else 1 s,
// doubled up to a minute.
func (b *Budget) backoff(unknown bool) time.Duration {
	switch {
	case unknown:
		return windowLength << min(b.lockout.streak-1, 4)
	case b.lockout.streak > 1:
		return min(time.Second<<min(b.lockout.streak-2, 6), windowLength)
	}
	return 0
}
