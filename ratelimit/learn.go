package ratelimit

import (
	"net/http"
	"slices"
	"time"
)

// settle reports the outcome of an admitted request.
func (b *budget) settle(s *slot, o *Outcome, now time.Time) {
	b.now = later(b.now, now)
	if i, ok := slices.BinarySearchFunc(b.inFlight, s.admitted, time.Time.Compare); ok {
		b.inFlight = slices.Delete(b.inFlight, i, i+1)
	}
	if s.probe {
		b.probes--
	}
	if o.Sent.IsZero() {
		return
	}
	b.responses++
	b.lastResponse = later(b.lastResponse, o.Received)
	if o.StatusCode == http.StatusUnauthorized {
		return // its headers say nothing about the limit of the key
	}
	b.learn(s, o)
	if o.StatusCode == http.StatusTooManyRequests {
		b.startLockout(s, o)
	} else if !o.Received.IsZero() && s.lockouts == b.lockouts {
		b.streak = 0
	}
}

// learn updates the budget from the headers of a response: the window that it belongs to, which is
// the known one, a new one or an old one, what is left of that window, and what others have used.
func (b *budget) learn(s *slot, o *Outcome) {
	if o.Received.IsZero() || o.Window.Limit == 0 {
		b.lose(o)
		return
	}
	if _, usable := untilReset(o); !usable {
		b.replaceReset(o)
	}
	apart := o.Window.Reset.Sub(b.reset) // both are times of the server's clock
	if apart < -sameWindow && s.epoch < b.epoch {
		return // a late response of an old window
	}
	switch { // rule 3
	case b.epoch == 0, apart.Abs() > sameWindow: // earlier, too: the window of another limit
		b.openWindow()
		b.setWindow(s, o)
	case apart >= 0: // else the response to an earlier request
		b.slides = b.slides || apart > 0
		b.setWindow(s, o)
	}
	// Rule 1: a lost request that could arrive only until this one was sent is spent, and counted in
	// this Remaining, or it will never arrive.
	b.lost = slices.DeleteFunc(b.lost, func(until time.Time) bool { return passed(o.Sent, until) })
	// Rule 2: what the response to an earlier request shows stays valid only if it is lower.
	b.samples = slices.DeleteFunc(b.samples, func(x sample) bool {
		return x.responses <= s.responses || x.remaining >= o.Window.Remaining
	})
	b.samples = append(b.samples, sample{b.responses, o.Window.Remaining})
	// A 429 may be about another window than the one that it shows.
	if o.StatusCode != http.StatusTooManyRequests {
		b.sent++
		b.learnOthers(s, o)
	}
}

// openWindow forgets what was known about the last window. Lost requests stay: the new window may
// count them.
func (b *budget) openWindow() {
	b.epoch++
	b.sent, b.kind = 0, ReasonMinute
	b.samples, b.past = b.samples[:0], b.past[:0]
	b.trust = max(b.trust, b.trust/2) // an old foreign request counts for less (rule 6)
}

// lose counts a request without a response, or without a window in it, as lost: it counts as one
// request for as long as it may still arrive. More lost requests than the limit change nothing.
func (b *budget) lose(o *Outcome) {
	b.sent++
	until := o.Received.Add(1) // a request that is sent at this very time may arrive before
	if o.Received.IsZero() {
		until = b.now.Add(patience)
	}
	if len(b.lost) < b.limit {
		b.lost = append(b.lost, until)
	}
}

// replaceReset replaces a Reset that cannot be true, such as one in the past (rule 3): the window
// then ends a minute after its first response, by the local clock.
func (b *budget) replaceReset(o *Outcome) {
	o.Date, o.Window.Reset = time.Time{}, b.reset
	if passed(o.Received, b.end) {
		o.Window.Reset = o.Received.Add(windowLength)
	}
}

// setWindow updates the window from a response that belongs to it.
func (b *budget) setWindow(s *slot, o *Outcome) {
	if s.probe || !o.Window.Reset.Equal(b.reset) {
		b.start = o.Received // its old start may no longer be in it
	}
	b.limit, b.reset = o.Window.Limit, o.Window.Reset
	b.end = endOf(o, b.start, grain)
	if b.end.Sub(b.start) > windowLength {
		b.kind = ReasonDay
	}
}

// untilReset returns the time from a response to its Reset, and false if the Reset cannot be true.
// It is a time of the server's clock, which Date shows: a difference of the clocks does not matter.
func untilReset(o *Outcome) (left time.Duration, usable bool) {
	left = o.Window.Reset.Sub(o.Date)
	usable = left > 0
	if o.Date.IsZero() {
		left = o.Window.Reset.Sub(o.Received)
		// A clock that is wrong by minutes is more likely than a window of minutes.
		usable = o.Window.Reset.Sub(o.Sent) > -grain && (left <= windowLength+slack || left >= time.Hour)
	}
	return left, usable && left < dayLength+slack
}

// endOf returns the local time at which the window of a response is certainly over. start is a time
// at which the window was open, and rounded is by how much Reset may have been rounded down. A
// window of one minute that was open at start is over one minute later, even if the clocks allow a
// later end.
func endOf(o *Outcome, start time.Time, rounded time.Duration) time.Time {
	left, _ := untilReset(o)
	end, most := o.Received.Add(min(left+rounded, dayLength)), start.Add(windowLength)
	if end.After(most) && end.Sub(most) <= slack {
		return most
	}
	return end
}

// learnOthers learns about others from the response to one of our requests. Of the requests that
// its window has counted, those that cannot be ours are foreign. They show whether others use the
// key (trust), how many of their requests are in flight, and how often they send (past).
func (b *budget) learnOthers(s *slot, o *Outcome) {
	// Our requests in flight may have been counted, too, so they are subtracted.
	ours := b.sent + len(b.inFlight)
	foreign := b.limit - o.Window.Remaining - ours
	if len(b.past) == 0 && b.kind == ReasonMinute {
		b.addPoint(b.end.Add(-windowLength), 0) // the window began with no request
	}
	b.addPoint(o.Received, foreign)
	if s.epoch != b.epoch { // our request did not yet know this window
		b.learnFirst(foreign, o)
		return
	}
	// What is missing since our request was admitted, and is not ours, has come from others.
	came := s.leftAndSent - o.Window.Remaining - ours
	if came > 0 {
		b.trust = lowTrust
	} else if b.trust >= 0 {
		b.trust = min(b.trust+1, fullTrust)
	}
	b.estimateInFlight(came, o.Received.Sub(s.lastResponse), o)
}

// learnFirst learns about others from the response to a request that was admitted before its window
// was known: what came while it was in flight cannot be told from what the window had counted.
func (b *budget) learnFirst(foreign int, o *Outcome) {
	if b.kind == ReasonDay {
		return // most of what a day has counted is long over
	}
	if foreign > 0 {
		b.trust = min(b.trust, 0)
	}
	// A quarter may be our own before a restart; a sliding window begins long before our first.
	if foreign > b.limit/strangePart && !b.slides {
		b.trust = min(b.trust, -1)
	}
	b.estimateInFlight(foreign, windowLength-b.end.Sub(o.Received), o)
}

// estimateInFlight estimates the foreign requests in flight, if so many came evenly in a span
// before a response: as many as came while our request was in flight. The estimate falls by 1/8
// with each response: after one quick response, others are not gone.
func (b *budget) estimateInFlight(came int, span time.Duration, o *Outcome) {
	took := o.Received.Sub(o.Sent)
	span = max(span, took, 1)
	inFlight := int((time.Duration(came)*took + span - 1) / span)
	b.othersInFlight = max(inFlight, b.othersInFlight-(b.othersInFlight+7)/8)
}

// addPoint adds to the past how many requests of others the window had counted. A number lower than
// the last one is older, since responses come in any order. While the number stays the same, only
// the time of the last point moves.
func (b *budget) addPoint(at time.Time, foreign int) {
	n := len(b.past)
	if n > 0 {
		at, foreign = later(at, b.past[n-1].at), max(foreign, b.past[n-1].foreign)
	}
	if n > 1 && foreign == b.past[n-2].foreign {
		b.past[n-1].at = at
		return
	}
	b.past = append(b.past, point{at, max(0, foreign)})
	if len(b.past) > mostPoints {
		b.past = slices.Delete(b.past, 1, 2)
	}
}

// startLockout begins a lockout after a 429, or makes it longer (rule 5). Several 429s to requests
// that were in flight together make one lockout. If a 429 does not say how long, the first lockout
// in a row takes a window, and each further one twice as long, up to 16.
func (b *budget) startLockout(s *slot, o *Outcome) {
	if s.lockouts == b.lockouts { // else the request was sent before the lockout
		b.lockouts++
		b.streak++
	}
	if b.streak <= 1 && !s.probe && o.Window.Remaining == 0 && o.RetryAfter <= windowLength {
		b.trust = lowTrust // another process used up the window
	}
	opens, reason := after429(o)
	least := time.Duration(0)
	switch {
	case opens.IsZero():
		least = windowLength << min(max(0, b.streak-1), 4)
	case b.slides && b.trust < 0:
		least = slidingLockout // the others get the room that becomes free
	case b.streak > 1:
		least = min(time.Second<<min(b.streak-2, 6), windowLength)
	}
	if until := later(opens, o.Received.Add(least)); until.After(b.until) {
		b.until, b.reason = until, reason
	}
}

// after429 returns when a 429 allows the next request, zero if it does not say, and which limit it
// is of. The end of the window counts if that is used up, or if there is no Retry-After.
func after429(o *Outcome) (opens time.Time, reason Reason) {
	rounded := grain
	if o.RetryAfter > 0 { // which is rounded up
		opens, rounded = o.Received.Add(o.RetryAfter), 0
	}
	end := endOf(o, o.Received, rounded)
	if _, usable := untilReset(o); !usable || !end.After(o.Received) {
		end = o.Received.Add(windowLength)
	} else if o.Window.Remaining == 0 || opens.IsZero() {
		opens = later(opens, end)
	}
	switch { // Retry-After and Reset are both rounded
	case opens.Sub(end) > 2*grain:
		return opens, ReasonBan
	case opens.Sub(o.Received) > windowLength+2*grain:
		return opens, ReasonDay
	}
	return opens, ReasonMinute
}
