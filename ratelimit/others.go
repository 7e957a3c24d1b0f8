package ratelimit

import "time"

// others is what a budget has learned about other processes that use the key.
//
// Each response shows how many requests its window has counted. Those that cannot be ours are
// foreign. They show three things. First, whether there are other processes at all: this is trust,
// and it decides which part of the window may be in flight here (share). Second, how many of their
// requests are in flight, since the server may count those before ours. Third, how often they send,
// since as many may have come since the last response (leftToOthers).
type others struct {
	// trust is the number of responses in a row that proved that nobody else uses the key. It is
	// negative after a foreign request.
	trust int
	// unproved is how many responses have come since the last proof. What they show may be foreign
	// requests, or our own in flight.
	unproved int
	// opening is how many requests the window had counted before our first one: foreign ones, or our
	// own before a restart.
	opening int
	// inFlight is an estimate of the foreign requests in flight.
	inFlight int
	// past is how many foreign requests the window had counted at which time: it shows how often
	// others send.
	past history
}

const (
	// unknownPart: while nothing is known about others, 1/16 of what is left may be in flight, so that
	// sixteen processes fit. With a smaller part bursts take longer; with a larger one, processes that
	// start together get their key banned. The simulations in growth_test.go and bench/sim test these
	// numbers.
	unknownPart = 16
	// fullTrust is the trust at which all that is left may be in flight: each two responses that prove
	// that nobody else uses the key double the part that may be.
	fullTrust = 8
	// trustAfterForeign is the trust after a foreign request. Each new window halves it: -4, -2,
	// -1, and 0 in the third.
	trustAfterForeign = -4
	// fewAtOnce requests may be in flight on small plans, of which 1/16 is too little for a web page
	// that makes six calls. But they are at most 1/fewPart of what would be left if others sent
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

// share returns how many requests that are not late may be in flight here (rule 6). It is at least
// 1: without a request in flight, nothing would be learned.
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

// leftToOthers returns how many requests of the window are left to others (rule 10): those that
// they have in flight or, if these are more, those that they have probably sent since the last
// response, and some for processes that start.
func (b *budget) leftToOthers() int {
	if b.pooled || b.processes <= 1 && !b.isShared() {
		return 0
	}
	sent := 1 + min(b.limit/newcomersPart, newcomers)
	if !b.slides {
		sent += b.others.past.expect(b.now)
	}
	// Each of the other processes may have one request in flight.
	return max(sent, b.others.inFlight, b.processes-1)
}

// isShared reports whether others have used the key in the last windows. A sliding window and that
// of the day begin long before our first request, so what they had counted then proves nothing.
func (b *budget) isShared() bool {
	return b.others.trust < 0 || !b.slides && !b.day && b.others.opening > b.limit/strangePart
}

// foreign returns how many of the requests that the window had counted at a response cannot be
// ours. Our requests in flight may have been counted, too, so they are subtracted.
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
		if came > 0 {
			x.trust = min(x.trust, 0)
		}
		x.estimate(came, windowLength-b.end.Sub(o.Received), o)
		return
	}
	// base has what was left when our request was admitted; our own requests are taken out of it. What
	// is missing since then has come from others.
	came := s.base - o.Window.Remaining - b.admitted
	b.trustResponse(came)
	x.estimate(came, o.Received.Sub(s.heard), o)
}

// trustResponse raises the trust, or takes it back if there were foreign requests since the
// response before. A response proves that nobody else uses the key if all that its window has
// counted are requests of ours with a response, or late ones. With many requests in flight, only
// the response to the last of them may prove it; then the responses before it count, too.
func (b *budget) trustResponse(came int) {
	switch x := &b.others; {
	case came > 0:
		x.trust = trustAfterForeign
	case x.trust >= 0 && x.trust < fullTrust:
		x.unproved++
		if late := b.inFlight - int(b.recent.total); b.limit-b.remaining()-b.own-x.opening <= late {
			x.trust, x.unproved = x.trust+x.unproved, 0
		}
	}
}

// estimate updates the number of foreign requests in flight: it takes as many as came while our
// request was in flight, on the assumption that they came evenly in the span. The estimate falls
// slowly, by 1/8 with each response, so that one quick response does not make others seem gone.
func (x *others) estimate(came int, span time.Duration, o *Outcome) {
	took := o.Received.Sub(o.Sent)
	span = max(span, took, 1)
	came = int((time.Duration(came)*took + span - 1) / span)
	x.inFlight = max(came, x.inFlight-(x.inFlight+7)/8)
}
