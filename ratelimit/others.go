package ratelimit

import (
	"slices"
	"time"
)

// foreignCount is how many foreign requests a window had counted at a time.
type foreignCount struct {
	at       time.Time
	requests int
}

// othersSeen is the trust after a foreign request. Each new window halves it: -2, -1, and 0 in the
// third.
const othersSeen = -4

// mostInFlight returns how many requests of this process may be in flight that are not slow (rules
// 6 and 8). It is at least 1: without a request in flight, nothing would be learned.
//
// Several processes that see the same Remaining send at the same time. So each of n processes may
// have 1/(2n) of it in flight: then all of them use up half of it at most before they see each
// other's requests. If their number is not known, the part is 1/16. Every two responses without a
// foreign request double the part, up to everything at a trust of 8.
//
// Foreign requests in flight are subtracted twice: Remaining does not include them, and others may
// send as many again while ours are in flight. For example, with 320 left, it is 20 at a trust of
// -4 to 1, 40 at 2, 80 at 4, 160 at 6, and 320 at 8; with 10 foreign requests in flight, it is
// (320-2*10)/16 = 18 at -4. Six may be in flight in any case, as long as they are at most a quarter
// of what is left after eight requests for each foreign one in flight.
func (b *budget) mostInFlight() int {
	left := b.left()
	switch {
	case b.windows == 0: // no response has shown a limit
		return 2 - min(1, b.lockouts)
	case b.processes == 1:
		return left
	case b.processes > 1:
		return max(1, left/(2*b.processes))
	}
	part := (left - 2*b.othersInFlight) / max(1, 16>>(max(0, b.trust)/2))
	few := min(6, (left-8*b.othersInFlight)/4) // a web page makes six calls, also on a small plan
	return max(1, part, few)
}

// reserve returns how many requests of the window must be left after this one. A background request
// leaves a tenth of the limit, if others asked in the last two minutes (rule 11).
//
// If other processes use the key, each request leaves them what they may send before this process
// knows of it (rule 10). That is the largest of three numbers: one request for each of them, the
// foreign requests in flight, and those that others have probably sent since the last response. The
// last number includes one more, and 1/16 of the limit, eight at most, for processes that start:
// nothing holds back their first requests.
//
// For example, let the limit be 320, the last response be one second old, and 10 foreign requests
// have come in the second before it: the reserve is 15+1+8 = 24 if others use the key, else 0.
func (b *budget) reserve(background bool) (n int) {
	if background && b.now.Sub(b.lastForeground) < 2*windowLength {
		n = b.limit / 10
	}
	if b.processes <= 1 && b.trust >= 0 {
		return n
	}
	others := 1 + min(b.limit/16, 8)
	if !b.slides {
		others += b.sentByOthers()
	}
	return n + max(others, b.othersInFlight, b.processes-1)
}

// sentByOthers returns how many requests others have probably sent since the last response: as many
// as in the same time before it, and half as many more, because processes that start send more. If
// the last response came two seconds ago, these are the requests of the two seconds before it.
func (b *budget) sentByOthers() int {
	i := len(b.history) - 1
	if i < 0 {
		return 0
	}
	last := b.history[i]
	since := last.at.Add(last.at.Sub(b.now)) // as long before the last response as now is after it
	for i > 0 && b.history[i].at.After(since) {
		i--
	}
	before := b.history[i]
	came := float64(last.requests - before.requests)
	if i+1 < len(b.history) && since.After(before.at) {
		// Between two responses they came evenly: those that came until since are subtracted.
		next := b.history[i+1]
		between := float64(next.requests - before.requests)
		came -= between * since.Sub(before.at).Seconds() / next.at.Sub(before.at).Seconds()
	}
	return int(1.5 * came)
}

// estimateOthers updates trust, othersInFlight and history from the response to one of our
// requests. Of the requests that its window has counted, those that cannot be ours are foreign.
func (b *budget) estimateOthers(s *snapshot, o *Outcome) {
	// The window may have counted our requests in flight, too.
	ours := b.sent + len(b.inFlight)
	foreign := b.limit - o.Window.Remaining - ours
	if len(b.history) == 0 && b.kind == ReasonMinute {
		b.addForeign(b.end.Add(-windowLength), 0) // the window began with no request
	}
	b.addForeign(o.Received, foreign)
	if s.windows != b.windows {
		b.estimateAtFirst(foreign, o)
		return
	}
	// Remaining has fallen since our request was admitted. What is more than ours is foreign.
	came := s.left - o.Window.Remaining - (ours - s.sent)
	if came > 0 {
		b.trust = othersSeen
	} else if b.trust >= 0 {
		b.trust = min(b.trust+1, 8)
	}
	b.estimateInFlight(came, o.Received.Sub(s.lastResponse), o)
}

// estimateAtFirst updates trust and othersInFlight from the response to a request that was admitted
// before its window was known: whether the foreign requests came before it or since then cannot be
// told.
func (b *budget) estimateAtFirst(foreign int, o *Outcome) {
	if b.kind == ReasonDay {
		return // most of what a day has counted is long over
	}
	if foreign > 0 {
		b.trust = min(b.trust, 0)
	}
	// A quarter may be our own before a restart; a sliding window begins long before our first.
	if foreign > b.limit/4 && !b.slides {
		b.trust = min(b.trust, -1)
	}
	b.estimateInFlight(foreign, windowLength-b.end.Sub(o.Received), o)
}

// estimateInFlight estimates how many foreign requests are in flight, after some came in a span
// that ended with a response. If each takes as long as our request, and they come evenly, these are
// as many as came while ours was in flight, rounded up. The estimate falls by an eighth at most,
// rounded up: after one quick response, others are not gone.
func (b *budget) estimateInFlight(came int, span time.Duration, o *Outcome) {
	took := o.Received.Sub(o.Sent)
	span = max(span, took, 1)
	inFlight := int((time.Duration(came)*took + span - 1) / span)
	b.othersInFlight = max(inFlight, b.othersInFlight-(b.othersInFlight+7)/8)
}

// addForeign adds to the history how many foreign requests the window had counted. A number lower
// than the last one is older, since responses come in any order. While the number stays the same,
// only the time of the last count moves. Of more than 32 counts, the first is kept, which is the
// start of the window.
func (b *budget) addForeign(at time.Time, requests int) {
	n := len(b.history)
	if n > 0 {
		at, requests = later(at, b.history[n-1].at), max(requests, b.history[n-1].requests)
	}
	if n > 1 && requests == b.history[n-2].requests {
		b.history[n-1].at = at
		return
	}
	b.history = append(b.history, foreignCount{at, max(0, requests)})
	if len(b.history) > 32 {
		b.history = slices.Delete(b.history, 1, 2)
	}
}
