package ratelimit

import "time"

// The numbers of rules 6 and 10. A comment says which simulations are worse with another number. A
// change of less than a fifth needs no thought; for more, run the simulations of README.md.
// TestRules has rows for each number.
const (
	// othersSeen is the trust after a foreign request. Each new window adds one, so that trust is 0
	// in the third. With -2, TestGrowth has more 429s and bans in windows that slide.
	othersSeen = -3
	// surelyAlone is the highest trust. Then everything that is left may be in flight, and 1/16 at
	// a trust of 0: every two steps between them double the part. With 1/32, TestBursts takes too
	// long.
	surelyAlone, partAtFirst = 8, 16
	// fewAtOnce requests may be in flight at any trust, since a web page makes six calls at once.
	// But they are only 1/fewPart of what is left. With a third, TestGrowth has more 429s.
	fewAtOnce, fewPart = 6, 4
	// From what is left, so many requests are subtracted for each foreign request in flight.
	// Without fewClaimed, TestGrowth has bans. Without claimed, it has one with 20 processes.
	claimed, fewClaimed = 2, 8

	// speedUp is how much faster others may send than they did, because more may have started. With
	// 1.25, TestGrowth has twice as many 429s on 60 a minute; with 2, TestLoads waits too long.
	speedUp = 1.5
	// 1/newcomersPart of the limit is left for the first requests of processes that start, because
	// nothing holds these back: in windows that do not slide, at most the constant newcomers. With
	// half of either number, TestGrowth has more 429s; with a larger constant, it uses less of the
	// limit. If this were the maximum in sliding windows, too, TestGrowth would have five times as
	// many 429s there.
	newcomersPart, newcomers = 16, 8
	// ratePeriod is the time in which the rate of others becomes a new one. With half or twice the
	// time, TestGrowth has more 429s.
	ratePeriod = 10 * time.Second
)

// isShared reports whether other processes use the key, as far as known.
func (b *budget) isShared() bool { return b.processes > 1 || b.trust < 0 }

// mostInFlight returns how many requests of this process may be in flight (rules 6 and 8). Slow
// requests do not count. While something is left, it is at least 1: without a request in flight,
// the process would learn nothing.
func (b *budget) mostInFlight() int {
	left := b.left()
	switch {
	case b.limit == 0 && b.lockoutOutcome == 0: // no response has shown a limit
		return 2
	case b.limit == 0:
		return 1
	case b.processes == 1:
		return left
	case b.processes > 1:
		return max(1, left/(2*b.processes))
	}
	part := (left - claimed*b.foreignInFlight) / (partAtFirst >> (max(0, b.trust) / 2))
	few := min(fewAtOnce, (left-fewClaimed*b.foreignInFlight)/fewPart)
	return max(1, part, few)
}

// keptBack returns how many requests must stay free after this one: for foreground requests, if it
// is a background request (rule 11), and for others (rule 10).
func (b *budget) keptBack(background bool) (n int) {
	if background && b.now.Sub(b.lastForeground) < 2*time.Minute {
		n = b.limit / 10
	}
	if !b.isShared() {
		return n
	}
	starting := b.limit / newcomersPart
	if !b.slides {
		starting = min(starting, newcomers)
	}
	sent := b.foreignRate * b.now.Sub(b.lastResponse).Seconds()
	others := 1 + starting + int(speedUp*min(sent, float64(b.foreign)))
	return n + max(others, b.foreignInFlight, b.processes-1)
}

// estimateOthers updates what is known about others from the response to one of our requests. A
// request is foreign if the window has counted it, and it cannot be ours.
func (b *budget) estimateOthers(s *snapshot, o *Outcome) {
	// Our requests in flight are included, because the window may have counted them already.
	ours := b.sent + len(b.inFlight)
	foreign := b.limit - o.Window.Remaining - ours
	b.foreign = max(b.foreign, foreign) // a lower number is that of a late response
	// came is the number of foreign requests after the last response before our request was
	// admitted: since then, Remaining has fallen by our own requests and by the foreign ones. For
	// example, 40 were left and 20 sent when it was admitted: leftAndSent is 60. Now Remaining is
	// 35, and ours is 21: 60-35-21 = 4 foreign requests came.
	came, since := s.leftAndSent-o.Window.Remaining-ours, s.lastResponse
	switch {
	case s.precedes(b.windowOutcome) && b.kind == ReasonDay:
		return // most of them came long ago, and show nothing about the present
	case s.precedes(b.windowOutcome):
		came, since = foreign, b.end.Add(-time.Minute) // all foreign requests since the start of the window
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
// quarter of the limit, they may be our own, from before a restart: with none, TestLoads waits too
// long. In a sliding window, more than a quarter may be our own.
func (b *budget) trustAtFirst(foreign int) {
	if foreign > b.limit/4 && !b.slides {
		b.trust = min(b.trust, -1)
	} else if foreign > 0 {
		b.trust = min(b.trust, 0)
	}
}

// estimateRate updates foreignRate after a time `span` in which the window has counted `came`
// foreign requests. A span of ratePeriod replaces the rate, and a shorter span a part of it.
func (b *budget) estimateRate(came int, span time.Duration) {
	span = max(span, 1)
	weight := min(1, span.Seconds()/ratePeriod.Seconds())
	b.foreignRate += weight * (float64(max(0, came))/span.Seconds() - b.foreignRate)
}

// estimateInFlight estimates how many foreign requests are in flight. `came` foreign requests came
// in the time `span`, which ended with our response. If they came evenly, and each takes as long as
// our request took, came*took/span are in flight, rounded up. For example, if 10 came in 1 s, and
// ours took 0.2 s, 2 are in flight. The estimate falls by at most 1/8, rounded up, because one
// quick response does not prove that others are gone: with 1/4, TestGrowth has more 429s.
func (b *budget) estimateInFlight(came int, span, took time.Duration) {
	span = max(span, took, 1)
	inFlight := int((time.Duration(came)*took + span - 1) / span)
	b.foreignInFlight = max(inFlight, b.foreignInFlight-(b.foreignInFlight+7)/8)
}
