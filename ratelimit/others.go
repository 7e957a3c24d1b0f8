package ratelimit

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// As long as other processes may use the key, only a part of what is left of the window may be in
// flight here (rule 6): 1/16 of it if the part is 16. Each response that shows no others raises
// what may be in flight, and a request of others lowers it. bench/sim tests the numbers: with
// these, bursts of a process that is alone take at most three round trips longer than without a
// limiter, and two or four processes that start together, or one after the other, are not banned.
const (
	// unknownPart applies while nothing is known about others. With 1/16 for each, sixteen
	// processes fit.
	unknownPart = 16
	// trusted is the number of responses in a row without others after which the part is 1: every
	// two of them halve it, from 16 on.
	trusted = 8
	// shared is the trust after a request of others. Each new window halves it: -4, -2, -1, and 0
	// in the third.
	shared = -4
	// fewAtOnce requests may be in flight on small plans: a sixteenth of these is too little for a
	// web page that makes six calls. They take at most 1/fewPart of what would be left if the
	// others sent rushPart times as many requests as they have in flight.
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

// others is what is known about other processes that use the key.
type others struct {
	// trust is the number of responses in a row that proved that nobody else uses the key. A request
	// of others sets it to shared, and each new window halves that.
	trust    int
	opening  int // requests in this window before our first one: of others, or our own before a restart
	inFlight int // estimate of the requests of others in flight
	// took is the time of the last request, at most twice that of the one before: a single slow
	// response must not make others seem to send more.
	took time.Duration

	past   history
	census census
}

// census compares the requests that the window had counted at one response with ours. The window
// may have counted some of ours that were in flight. Until they have an outcome, these cannot be
// told apart from requests of others.
type census struct {
	at        int // the response; 0 without a census
	remaining int // the lowest Remaining then
	unknown   int // requests counted until then that may be of others
	inFlight  int // our requests in flight then that have no outcome yet
	responses int // to our requests since
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

// takeCensus continues the census with a response. Once it shows that nobody else uses the key, its
// responses count as proof. It does not wait for the outcome of late requests: these may be the
// unknown ones.
func (b *budget) takeCensus() {
	x, c := &b.others, &b.others.census
	if c.at == 0 {
		*c = census{b.responses, b.remaining(), b.limit - b.remaining() - b.own - x.opening, b.inFlight, 0}
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

// inferOthers infers from the response to one of our requests how many requests of others the window
// has counted. opened is whether it is the first response of the window.
func (b *budget) inferOthers(s slot, o *Outcome, opened bool) {
	x := &b.others
	took := o.Received.Sub(o.Sent)
	x.took = min(took, 2*cmp.Or(x.took, took))
	if opened && !b.day {
		x.past.add(b.end.Add(-windowLength), 0)
	}
	x.past.add(o.Received, b.limit-o.Window.Remaining-b.own-b.inFlight)
	// came: requests that the window counted since the last response before ours was sent, without
	// those that may have been ours. span: the time in which they came.
	came, span := s.base-o.Window.Remaining-b.admitted, o.Received.Sub(s.heard)
	switch opened = opened || s.epoch != b.epoch; {
	case opened:
		came, span = b.limit-o.Window.Remaining-b.own-b.inFlight, windowLength-b.end.Sub(o.Received)
		x.opening = max(0, came)
		switch {
		case b.day:
			return // most of what a day has counted is long over
		case came > 0:
			x.trust = min(x.trust, 0)
		case b.epoch > 1 && x.trust >= 0: // nobody else waited for this window
			x.trust = max(x.trust, trusted)
		}
	case came > 0:
		x.trust = shared
	case x.trust >= 0 && x.trust < trusted:
		b.takeCensus()
	}
	// The estimate: as many as came during our request are in flight now. It falls slowly, by 1/8
	// with each response, so that one quick response does not make others seem gone.
	span = max(span, took, 1)
	came = int((time.Duration(came)*x.took + span - 1) / span)
	x.inFlight = max(came, x.inFlight-(x.inFlight+7)/8)
}

// isShared reports whether others have used the key in the last windows.
func (b *budget) isShared() bool {
	return b.others.trust < 0 || !b.slides && !b.day && !b.other && b.others.opening > b.limit/strangePart
}

// leftToOthers returns how many requests of the window are left to others: those that they have in
// flight or, if these are more, those that they have probably sent since the last response, and some
// for processes that start (rule 10).
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

// share returns how many requests that are not late may be in flight (rule 6).
func (b *budget) share() int {
	left, x := b.left(), &b.others
	switch {
	case b.processes == 1:
		return left
	case b.processes > 1:
		return max(1, left/(2*b.processes))
	}
	part := max(1, unknownPart>>(max(0, x.trust)/2))
	// Their requests in flight may double while ours is in flight.
	return max(1, (left-2*x.inFlight)/part, min(fewAtOnce, (left-rushPart*x.inFlight)/fewPart))
}

// mostPoints is the number of points from which on the oldest one but the first is dropped, so that
// a window takes little memory whatever its limit.
const mostPoints = 32

// history has how many requests of others a window had counted, at the times of its responses.
type history []point

type point struct {
	at     time.Time
	others int
}

// add adds what a response shows. Responses come in any order, so that a lower number is an earlier
// one.
func (h *history) add(at time.Time, others int) {
	var last point
	if n := len(*h); n > 0 {
		last = (*h)[n-1]
	}
	*h = append(*h, point{later(at, last.at), max(others, last.others)})
	if len(*h) > mostPoints {
		*h = slices.Delete(*h, 1, 2)
	}
}

// expect returns how many requests others have probably sent since the last response: as many as in
// the same time before it, and half as many more, because processes that start send more.
func (h history) expect(now time.Time) int {
	if len(h) == 0 {
		return 0
	}
	last := h[len(h)-1]
	return int(1.5 * (float64(last.others) - h.at(last.at.Add(last.at.Sub(now)))))
}

// at returns how many requests of others the window had counted at a time. Between two responses
// they came evenly, as far as known.
func (h history) at(t time.Time) float64 {
	i := len(h) - 1
	for i > 0 && h[i].at.After(t) {
		i--
	}
	p := h[i]
	if i+1 == len(h) || !p.at.Before(t) {
		return float64(p.others)
	}
	next := h[i+1]
	return float64(p.others) + float64(next.others-p.others)*t.Sub(p.at).Seconds()/next.at.Sub(p.at).Seconds()
}
