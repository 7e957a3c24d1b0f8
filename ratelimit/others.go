package ratelimit

import (
	"cmp"
	"net/http"
	"time"
)

// others is what a budget has learned about other processes that use the key.
//
// Each response shows how many requests its window has counted. Those that cannot be ours are
// foreign. They show three things. Whether there are other processes at all: that is trust, and it
// decides which part of the window may be in flight here (share). How many of their requests are in
// flight: these will be counted before ours. And how often they send: as many may have come since
// the last response (leftToOthers).
type others struct {
	// trust is the number of responses in a row that proved that nobody else uses the key. It is
	// negative after a foreign request.
	trust    int
	opening  int           // foreign requests in this window before our first one, or ours before a restart
	inFlight int           // estimate of the foreign requests in flight
	took     time.Duration // how long the last request took
	past     history
	census   census
}

const (
	// unknownPart: while nothing is known about others, 1/16 of what is left may be in flight, so
	// that sixteen processes fit. With less trust in others bursts take longer, and with more of it
	// processes that start together are banned: the simulations in growth_test.go and bench/sim
	// test the numbers.
	unknownPart = 16
	// fullTrust is the trust at which everything may be in flight: two responses double the part.
	fullTrust = 8
	// trustAfterForeign is the trust after a foreign request. Each new window halves it: -4, -2, -1,
	// and 0 in the third.
	trustAfterForeign = -4
	// fewAtOnce requests may be in flight on small plans, of which 1/16 is too little for a web page
	// that makes six calls. They take 1/fewPart at most of what would be left if others sent
	// rushPart times as many requests as they have in flight.
	fewAtOnce = 6
	fewPart   = 4
	rushPart  = 8
	// newcomers is how many requests of a window are left to processes that start when it is nearly
	// used up, because nothing can hold back their first request: one for each of eight processes,
	// but no more than 1/16 of the limit.
	newcomers     = 8
	newcomersPart = 16
	// strangePart: if a window had counted a quarter of its limit before our first request, others
	// use the key. Fewer may be our own requests before a restart.
	strangePart = 4
)

// share returns how many requests that are not late may be in flight here (rule 6).
func (b *budget) share() int {
	left, x := b.left(), &b.others
	switch {
	case b.processes == 1:
		return left
	case b.processes > 1:
		return max(1, left/(2*b.processes))
	}
	part := max(1, unknownPart>>(max(0, x.trust)/2))
	// The foreign requests in flight may double while ours is in flight.
	return max(1, (left-2*x.inFlight)/part, min(fewAtOnce, (left-rushPart*x.inFlight)/fewPart))
}

// leftToOthers returns how many requests of the window are left to others (rule 10): those that they
// have in flight or, if these are more, those that they have probably sent since the last response,
// and some for processes that start.
func (b *budget) leftToOthers() int {
	if b.processes <= 1 && !b.isShared() {
		return 0
	}
	sent := 1 + min(b.limit/newcomersPart, newcomers)
	if !b.slides {
		sent += b.others.past.expect(b.now)
	}
	return max(sent, b.others.inFlight, b.processes-1) // each process may have one in flight
}

// isShared reports whether others have used the key in the last windows.
func (b *budget) isShared() bool {
	return b.others.trust < 0 || !b.slides && !b.day && !b.other && b.others.opening > b.limit/strangePart
}

// foreign returns how many requests the window had counted at a response that cannot be ours: those
// of ours that are in flight may be among them.
func (b *budget) foreign(o *Outcome) int {
	return b.limit - o.Window.Remaining - b.own - b.inFlight
}

// inferOthers learns from the response to one of our requests. opened is whether it is the first
// response of its window.
func (b *budget) inferOthers(s slot, o *Outcome, opened bool) {
	x := &b.others
	if opened && !b.day {
		x.past.add(b.end.Add(-windowLength), 0)
	}
	x.past.add(o.Received, b.foreign(o))
	if opened || s.epoch != b.epoch {
		came := b.foreign(o)
		x.opening = max(0, came)
		if b.day {
			return // most of what a day has counted is long over
		}
		b.trustWindow(came)
		x.estimate(came, windowLength-b.end.Sub(o.Received), o)
		return
	}
	// What was left when our request was admitted, without ours: what is missing now has come since.
	came := s.base - o.Window.Remaining - b.admitted
	b.trustResponse(came)
	x.estimate(came, o.Received.Sub(s.heard), o)
}

// trustWindow changes the trust by the foreign requests before the first response of a window.
func (b *budget) trustWindow(came int) {
	switch x := &b.others; {
	case came > 0:
		x.trust = min(x.trust, 0)
	case b.epoch > 1 && x.trust >= 0: // nobody else waited for this window
		x.trust = max(x.trust, fullTrust)
	}
}

// trustResponse changes the trust by the foreign requests since the response before.
func (b *budget) trustResponse(came int) {
	switch x := &b.others; {
	case came > 0:
		x.trust = trustAfterForeign
	case x.trust >= 0 && x.trust < fullTrust:
		b.takeCensus()
	}
}

// estimate updates the foreign requests in flight: as many as came while ours was in flight, if they
// came evenly in that span. The estimate falls slowly, by 1/8 with each response, so that one quick
// response does not make others seem gone. A slow response counts for twice the time of the one
// before at most: it must not make them seem to send more.
func (x *others) estimate(came int, span time.Duration, o *Outcome) {
	took := o.Received.Sub(o.Sent)
	x.took = min(took, 2*cmp.Or(x.took, took))
	span = max(span, took, 1)
	came = int((time.Duration(came)*x.took + span - 1) / span)
	x.inFlight = max(came, x.inFlight-(x.inFlight+7)/8)
}

// census finds out whether all requests that a window has counted are ours. At its first response,
// some of ours were in flight: the window may have counted these, or foreign ones in their place.
// The census ends when enough of them have an outcome to tell.
type census struct {
	at        int // the response that began it; 0 without a census
	remaining int // the lowest Remaining then
	unknown   int // requests counted until then that may be foreign
	inFlight  int // our requests in flight then that have no outcome yet
	responses int // to our requests since
}

// takeCensus continues the census with a response. If nobody else uses the key, all its responses
// count as proof. It does not wait for late requests: these may be the unknown ones.
func (b *budget) takeCensus() {
	x, c := &b.others, &b.others.census
	if c.at == 0 {
		unknown := b.limit - b.remaining() - b.own - x.opening
		*c = census{at: b.responses, remaining: b.remaining(), unknown: unknown, inFlight: b.inFlight}
	}
	c.responses++
	switch late := b.inFlight - b.recent.count; {
	case c.unknown > c.inFlight:
		x.trust = 0
	case c.unknown <= 0, c.inFlight <= late:
		x.trust += c.responses
	default:
		return
	}
	*c = census{}
}

// settle records the outcome of a request, which may be one of the unknown ones.
func (c *census) settle(s slot, o *Outcome) {
	if s.responses >= c.at {
		return
	}
	c.inFlight--
	if !o.Sent.IsZero() && o.Window.Remaining >= c.remaining && o.StatusCode != http.StatusTooManyRequests {
		c.unknown--
	}
}
