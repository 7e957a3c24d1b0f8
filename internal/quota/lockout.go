package quota

import "time"

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
	usedUp := !l.rejected && !Passed(now, b.end) && b.left() <= b.reserve(false)
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
	switch {
	case l.rejected:
	case s.probe && s.epoch > 0: // the window was assumed to be over, but was not
		b.margin = resetGrain
	case !s.probe && o.RateLimit.Remaining == 0 && o.RetryAfter <= windowLength:
		b.others.trust = shared // another process used up the window
	}
	switch {
	case b.freesOneByOne(&o):
		o.RetryAfter = max(o.RetryAfter, windowLength/2)
	case b.slides && b.isShared():
		// All processes that share a sliding window wait for the same request to leave it. The one
		// that got a 429 leaves what becomes free to the others.
		o.RetryAfter = max(o.RetryAfter, windowLength)
	}
	l.rejected = true
	opens, scope := b.after429(&o)
	if until := Later(opens, o.Received.Add(b.backoff(opens.IsZero()))); until.After(l.until) {
		l.until, l.scope = until, scope
	}
}

// freesOneByOne reports whether short lockouts follow each other, without headers. The service then
// counts in a sliding window, in which requests become free one by one.
func (b *Budget) freesOneByOne(o *Observation) bool {
	again := b.lockout.count > 1 && o.Received.Sub(b.lockout.until) < windowLength
	return b.epoch == 0 && o.RetryAfter > 0 && again
}

// After429 returns the time from which a 429 allows the next request, zero if it does not say, and
// the limit that causes it: as far as this response alone shows.
func After429(o *Observation) (opens time.Time, scope Scope) {
	var b Budget
	b.offset.narrow(o)
	return b.after429(o)
}

// after429 is After429 with what earlier responses have shown. The end of the window counts if it
// is used up, or if there is no Retry-After.
func (b *Budget) after429(o *Observation) (opens time.Time, scope Scope) {
	end, usable := b.endOf(o, o.Received)
	if o.RetryAfter > 0 { // which is rounded up
		opens = o.Received.Add(o.RetryAfter)
		end, usable = b.endWithin(o, o.Received, 0)
	}
	if !usable {
		end = time.Time{}
	}
	if o.RateLimit.Remaining == 0 || opens.IsZero() {
		opens = Later(opens, end)
	}
	if end.IsZero() {
		end = o.Received.Add(windowLength)
	}
	const slack = 2 * time.Second // Retry-After and Reset are both rounded
	switch {
	case opens.Sub(end) > slack:
		return opens, Ban
	case opens.Sub(o.Received) > windowLength+slack:
		return opens, Day
	}
	return opens, Minute
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
