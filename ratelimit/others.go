package ratelimit

import (
	"slices"
	"time"
)

// foreignCount is the number of foreign requests that the window had counted by a time.
type foreignCount struct {
	at       time.Time
	requests int
}

const (
	// othersSeen is the trust after a foreign request. Each new window halves it: to -2, to -1, and
	// to 0 in the third.
	othersSeen = -4
	// surelyAlone is the highest trust: everything that is left may be in flight.
	surelyAlone = 8
	// partAtFirst is for a trust of 0: 1/16 of what is left may be in flight. Every two responses
	// without a foreign request double this part, so that at surelyAlone it is everything.
	partAtFirst = 16
)

// mostInFlight returns how many requests of this process may be in flight (rules 6 and 8). Slow
// ones do not count. It is at least 1 while something is left: without a request in flight, nothing
// would be learned.
//
// Processes that see the same Remaining may all send at once. So each of n processes may have
// 1/(2n) of the remaining requests in flight: they use up half at most before they see each other's
// requests. If their number is not known, the part is 1/16 at first. It doubles with every second
// response without a foreign request: it is 1/8 at a trust of 2, 1/4 at 4, 1/2 at 6, and all at 8.
//
// Before the part is taken, each foreign request in flight is subtracted twice: the server had not
// counted it yet, and others may send as many again while ours are in flight. For example, with 320
// left, 10 foreign requests in flight and a trust of 0, it is (320-2*10)/16 = 18. Whatever the
// trust, up to six may be in flight if 4 requests are left for each of them, and 8 for each foreign
// request in flight.
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
	part := (left - 2*b.othersInFlight) / (partAtFirst >> (max(0, b.trust) / 2))
	few := min(6, (left-8*b.othersInFlight)/4) // a web page makes six calls at once
	return max(1, part, few)
}

// reserve returns how many requests of the window must be left after this one. A background request
// leaves a tenth of the limit, if a request outside the background asked in the last two minutes
// (rule 11).
//
// If other processes use the key, each request leaves room for foreign requests that this process
// cannot know of yet (rule 10). The room is the largest of three numbers: the number of other
// processes, the foreign requests in flight, and a sum. The sum is what others have probably sent
// since the last response (0 if the window slides), plus one request, plus 1/16 of the limit, eight
// at most, for processes that start: nothing holds back their first requests.
//
// For example, the limit is 320, the last response came one second ago, and 10 foreign requests
// came in the second before it. Then the room is 15+1+8 = 24. If nobody else uses the key, it is 0.
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

// sentByOthers returns how many requests others have probably sent since the last response: 1.5
// times what they sent in an equally long time before it, since processes that start send more. For
// example, if the last response came two seconds ago, and 10 foreign requests came in the two
// seconds before it, the result is 15.
func (b *budget) sentByOthers() int {
	i := len(b.history) - 1
	if i < 0 {
		return 0
	}
	last := b.history[i]
	since := last.at.Add(last.at.Sub(b.now)) // as long before last.at as now is after it
	for i > 0 && b.history[i].at.After(since) {
		i--
	}
	before := b.history[i]
	came := float64(last.requests - before.requests)
	if i+1 < len(b.history) && since.After(before.at) {
		// Assume that they came evenly: subtract those from before `since`.
		next := b.history[i+1]
		between := float64(next.requests - before.requests)
		came -= between * since.Sub(before.at).Seconds() / next.at.Sub(before.at).Seconds()
	}
	return int(1.5 * came)
}

// estimateOthers updates trust, othersInFlight and history from the response to one of our
// requests. The requests that the window has counted, and that cannot be ours, are foreign.
func (b *budget) estimateOthers(s *snapshot, o *Outcome) {
	// The window may have counted our requests in flight already.
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
	// Since our request was admitted, Remaining has fallen by our requests and foreign ones.
	came := s.left - o.Window.Remaining - (ours - s.sent)
	if came > 0 {
		b.trust = othersSeen
	} else if b.trust >= 0 {
		b.trust = min(b.trust+1, surelyAlone)
	}
	b.estimateInFlight(came, o.Received.Sub(s.lastResponse), o)
}

// estimateAtFirst updates trust and othersInFlight from the response to a request that was admitted
// before its window was known. Nobody can tell whether the foreign requests came before or after
// the admission.
func (b *budget) estimateAtFirst(foreign int, o *Outcome) {
	if b.kind == ReasonDay {
		return // most requests of a day were sent long ago
	}
	if foreign > 0 {
		b.trust = min(b.trust, 0)
	}
	// Up to a quarter may be our own, from before a restart; in a sliding window, even more.
	if foreign > b.limit/4 && !b.slides {
		b.trust = min(b.trust, -1)
	}
	b.estimateInFlight(foreign, windowLength-b.end.Sub(o.Received), o)
}

// estimateInFlight estimates how many foreign requests are in flight, if `came` of them came in a
// span that ended with our response. If they came evenly, and take as long as ours took, these are
// came*took/span, rounded up: if 10 came in 1 s, and ours took 0.2 s, 2 are in flight. The estimate
// falls by 1/8 at most, rounded up: one quick response does not prove that others are gone.
func (b *budget) estimateInFlight(came int, span time.Duration, o *Outcome) {
	took := o.Received.Sub(o.Sent)
	span = max(span, took, 1)
	inFlight := int((time.Duration(came)*took + span - 1) / span)
	b.othersInFlight = max(inFlight, b.othersInFlight-(b.othersInFlight+7)/8)
}

// addForeign adds a number of counted foreign requests to the history. Responses come in any order:
// a number that is lower than the last one is older, so the last one is repeated. Of equal numbers,
// only the first and the last stay. At most 32 stay: the first one, which is from the start of the
// window, and the newest.
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
