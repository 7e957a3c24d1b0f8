package ratelimit

import "time"

const (
	// othersSeen is the trust after a foreign request. Each new window adds one, so that trust is 0
	// in the third.
	othersSeen = -3
	// surelyAlone is the highest trust: everything that is left may be in flight.
	surelyAlone = 8
	// partAtFirst is the divisor at a trust of 0: 1/16 of what is left may be in flight. Every two
	// responses without a foreign request double this part: at surelyAlone it is everything.
	partAtFirst = 16
)

// isShared reports whether other processes use the key, as far as known.
func (b *budget) isShared() bool { return b.processes > 1 || b.trust < 0 }

// mostInFlight returns how many requests of this process may be in flight (rules 6 and 8). Slow
// requests do not count. While something is left, the result is at least 1: without a request in
// flight, the process would learn nothing.
//
// Processes that see the same Remaining may all send at once. So if the number n of processes is
// known, each may have 1/(2n) of the remaining requests in flight: together they use at most half
// of them before they see each other's requests. If n is not known, the part is 1/16 at first. It
// doubles with every second response without a foreign request: it is 1/8 at a trust of 2, 1/4 at
// 4, 1/2 at 6, and all at 8.
//
// Before the part is taken, two requests are subtracted for each foreign request in flight: the
// foreign request itself, which the server had not counted yet, and another one that may come while
// ours are in flight. With 320 left, 10 foreign requests in flight and a trust of 0, the result is
// (320-2*10)/16 = 18. Whatever the trust, up to six requests may be in flight: one for every four
// that are left, after eight are subtracted for each foreign request in flight. With 28 left and
// two foreign requests in flight, this allows (28-8*2)/4 = 3.
func (b *budget) mostInFlight() int {
	left := b.left()
	switch {
	case b.limit == 0 && b.lockoutBy == 0: // no response has shown a limit
		return 2
	case b.limit == 0:
		return 1
	case b.processes == 1:
		return left
	case b.processes > 1:
		return max(1, left/(2*b.processes))
	}
	part := (left - 2*b.foreignInFlight) / (partAtFirst >> (max(0, b.trust) / 2))
	few := min(6, (left-8*b.foreignInFlight)/4) // a web page makes six calls at once
	return max(1, part, few)
}

// keptBack returns how many requests must stay free after this one. A background request keeps a
// tenth of the limit for foreground requests (rule 11). If others use the key, each request keeps
// back what they may send before this process knows of it (rule 10).
func (b *budget) keptBack(background bool) (n int) {
	if background && b.now.Sub(b.lastForeground) < 2*time.Minute {
		n = b.limit / 10
	}
	if !b.isShared() {
		return n
	}
	sent := b.foreignRate * b.now.Sub(b.lastResponse).Seconds()
	others := 1 + min(b.limit/16, 8) + int(1.5*min(sent, float64(b.foreign)))
	return n + max(others, b.foreignInFlight, b.processes-1)
}

// estimateOthers updates what is known about others from the response to one of our requests. A
// request is foreign if the window has counted it, and it cannot be ours.
func (b *budget) estimateOthers(s *snapshot, o *Outcome) {
	// Our requests in flight are included, because the window may have counted them already.
	ours := b.sent + len(b.inFlight)
	foreign := b.limit - o.Window.Remaining - ours
	b.foreign = max(b.foreign, foreign) // a lower number is that of a late response
	// came is the number of foreign requests since our request was admitted, and since the response
	// before that: since then, Remaining has fallen by our own requests and by the foreign ones.
	came, since := s.leftAndSent-o.Window.Remaining-ours, s.lastResponse
	switch {
	case s.precedes(b.windowBy) && b.kind == ReasonDay:
		return // most of them came long ago, and show nothing about the present
	case s.precedes(b.windowBy):
		came, since = foreign, b.end.Add(-time.Minute) // all since the start of the window
		b.trustAtFirst(foreign)
	case came > 0:
		b.trust = othersSeen
	case b.trust >= 0:
		b.trust = min(b.trust+1, surelyAlone)
	}
	span := o.Received.Sub(since)
	b.estimateRate(came, span)
	b.estimateInFlight(came, span, o.Received.Sub(o.Sent))
}

// trustAtFirst lowers trust if foreign requests came before this process knew the window. Up to a
// quarter of the limit, they may be our own, from before a restart. In a sliding window, even more
// may be our own.
func (b *budget) trustAtFirst(foreign int) {
	if foreign > b.limit/4 && !b.slides {
		b.trust = min(b.trust, -1)
	} else if foreign > 0 {
		b.trust = min(b.trust, 0)
	}
}

// estimateRate updates foreignRate after a time `span` in which the window has counted `came`
// foreign requests. A span of ten seconds replaces the rate, and a shorter span a part of it.
func (b *budget) estimateRate(came int, span time.Duration) {
	seconds := max(span, 1).Seconds()
	b.foreignRate += min(1, seconds/10) * (float64(max(0, came))/seconds - b.foreignRate)
}

// estimateInFlight estimates how many foreign requests are in flight. `came` foreign requests came
// in the time `span`, which ended with our response. If they came evenly, and each takes as long as
// our request took, came*took/span are in flight, rounded up. For example, if 10 came in 1 s, and
// ours took 0.2 s, 2 are in flight. The estimate falls by at most 1/8, rounded up, because one
// quick response does not prove that others are gone.
func (b *budget) estimateInFlight(came int, span, took time.Duration) {
	span = max(span, took, 1)
	inFlight := int((time.Duration(came)*took + span - 1) / span)
	b.foreignInFlight = max(inFlight, b.foreignInFlight-(b.foreignInFlight+7)/8)
}
