package ratelimit

import "time"

// lockout is the time after a 429 in which the key sends nothing (rule 5).
type lockout struct {
	// until is the time before which nothing is sent.
	until time.Time
	// scope is the limit that the 429 seems to be for.
	scope Reason
	// streak is how many lockouts there were since the last success. Unless it is 0, one request goes
	// first, and all others wait for its response.
	streak int
	// count is how many lockouts there were so far. It shows whether a request was sent before the
	// last lockout.
	count int
}

// reopen allows one probe although the key is closed, and reports whether it does (rule 9). It does
// not if the key is open, or if a probe is in flight.
func (b *budget) reopen(now time.Time) bool {
	now = b.observe(now)
	l := &b.lockout
	usedUp := l.streak == 0 && !passed(now, b.end) && b.left() <= b.reserve(false)
	if passed(now, l.until) && !usedUp {
		return false
	}
	l.until, l.scope, l.streak = time.Time{}, "", max(1, l.streak)
	b.reported.ends = now
	return true
}

// lockOut begins a lockout after a 429, or makes it longer. Several 429s to requests that were in
// flight together make one lockout.
func (b *budget) lockOut(s slot, o Outcome) {
	l := &b.lockout
	// If count has changed, this is a further 429 to a request sent before the lockout.
	if s.lockouts == l.count {
		l.count++
		l.streak++
	}
	b.learnMistake(s, &o)
	if b.slides && b.isShared() && !b.pooled {
		// All processes that share a sliding window wait for the same request to leave it. The process
		// that got the 429 leaves the room that becomes free to the others.
		o.RetryAfter = max(o.RetryAfter, windowLength)
	}
	opens, scope := b.after429(&o)
	if until := later(opens, o.Received.Add(b.backoff(opens.IsZero()))); until.After(l.until) {
		l.until, l.scope = until, scope
	}
}

// learnMistake learns from the first 429 after a success why its request was admitted although
// there was no room. A further 429 in a row says nothing new.
func (b *budget) learnMistake(s slot, o *Outcome) {
	switch {
	case b.lockout.streak > 1:
	case s.probe && s.epoch > 0: // the window was assumed to be over, but was not
		b.margin = resetGrain
	case !s.probe && o.Window.Remaining == 0 && o.RetryAfter <= windowLength:
		b.others.trust = trustAfterForeign // another process used up the window
	}
}

// after429 returns when a 429 allows the next request, zero if it does not say, and which limit
// it is of. The end of the window counts if that is used up, or if there is no Retry-After.
func (b *budget) after429(o *Outcome) (opens time.Time, scope Reason) {
	grain := resetGrain
	if o.RetryAfter > 0 { // which is rounded up
		opens, grain = o.Received.Add(o.RetryAfter), 0
	}
	end, usable := b.endOf(o, o.Received, grain)
	if usable && (o.Window.Remaining == 0 || opens.IsZero()) {
		opens = later(opens, end)
	}
	if !usable {
		end = o.Received.Add(windowLength)
	}
	const slack = 2 * time.Second // Retry-After and Reset are both rounded
	switch {
	case opens.Sub(end) > slack:
		return opens, ReasonBan
	case opens.Sub(o.Received) > windowLength+slack:
		return opens, ReasonDay
	}
	return opens, ReasonMinute
}

// backoff returns the shortest lockout after a 429. If the 429 has Retry-After or Reset, that is 0
// for the first 429 in a row, 1 s for the second, and twice as long with each further one, up to a
// minute. With neither of them (unknown), it begins with the length of a window, and doubles up to
// 16 windows.
func (b *budget) backoff(unknown bool) time.Duration {
	switch {
	case unknown:
		return windowLength << min(b.lockout.streak-1, 4)
	case b.lockout.streak > 1:
		return min(time.Second<<min(b.lockout.streak-2, 6), windowLength)
	}
	return 0
}
