package quota

import (
	"cmp"
	"net/http"
	"time"
)

// As long as other processes may use the key, only a part of what is left of the window may be in
// flight here (rule 6): 1/16 of it with a part of 16. Each response that shows nobody else widens
// the way; a request of others narrows it. bench/sim tries the numbers: with these, bursts of a
// process that is alone take at most three round trips longer than without a limiter, and no two or
// four processes that start together, or one after the other, are banned.
const (
	// unknownPart applies as long as nothing speaks for or against others: sixteen processes fit.
	unknownPart = 16
	// trusted is with how many responses in a row that show nobody else the part becomes 1: it is
	// halved with every two.
	trusted = 8
	// crowded lasts until the third window after the last request of others, as it is halved.
	crowded = -4
	// quietPart applies after a time without a response.
	quietPart = 4
	// fewAtOnce requests may be in flight on small plans, of which a sixteenth is too little for a
	// web page with six calls. They take at most 1/fewPart of what would be left if the others sent
	// rushPart times as many requests as they have in flight.
	fewAtOnce = 6
	fewPart   = 4
	rushPart  = 8
)

// quiet is the time without a response after which other processes may have begun to use the key. 5
// seconds is longer than the pauses between the calls of a busy process.
const quiet = 5 * time.Second

// blindInFlight is how many requests may be in flight while no response has had a limit, until the
// first 429; afterwards one.
const blindInFlight = 2

// others is what is known about other processes that use the key.
type others struct {
	// alone is the number of responses in a row that proved that nobody else uses the key. A request
	// of others sets it to crowded, and each new window halves that.
	alone   int
	opening int // requests in this window before our first one: of others, or our own before a restart
	foreign int // estimate of the requests of others in flight
	// took is the time of the last request, at most twice that of the one before: a single slow
	// response says more about us than about others.
	took time.Duration

	tally tally
}

// tally compares the requests that the window had counted at one response with ours. Ours that were
// in flight may be among them, and hide as many of others: only their outcomes tell.
type tally struct {
	at        int // the response; 0 without a tally
	remaining int // the lowest Remaining then
	unknown   int // requests counted until then that may be of others
	inFlight  int // our requests in flight then that have no outcome yet
	responses int // to our requests since
}

// settle records the outcome of a request, which may be one of the unknown ones.
func (t *tally) settle(s Slot, o *Observation) {
	if s.responses >= t.at {
		return
	}
	t.inFlight--
	counted := o.RateLimit.Limit <= 0 || o.RateLimit.Remaining >= t.remaining
	if !o.Sent.IsZero() && counted && o.StatusCode != http.StatusTooManyRequests {
		t.unknown--
	}
}

// prove continues the tally with a response. Once it shows nobody else, its responses count for
// that. It does not wait for late requests: these may be the unknown ones.
func (b *Budget) prove() {
	x, t := &b.others, &b.others.tally
	if t.at == 0 {
		*t = tally{b.responses, b.remaining(), b.limit - b.remaining() - b.own - x.opening, b.inFlight, 0}
	}
	t.responses++
	switch late := b.inFlight - b.recent.total; {
	case t.unknown > t.inFlight:
		x.alone = 0
	case t.unknown <= 0, t.inFlight <= late:
		x.alone += t.responses
	default:
		return
	}
	*t = tally{}
}

// watch infers from the response to one of our requests how many requests of others the window has.
func (b *Budget) watch(s Slot, o *Observation, opened bool) {
	x := &b.others
	took := o.Received.Sub(o.Sent)
	x.took = min(took, 2*cmp.Or(x.took, took))
	// came: requests that the window counted since the last response before ours was sent, without
	// those that may have been ours. span: the time in which they came.
	came, span := s.base-o.RateLimit.Remaining-b.admitted, o.Received.Sub(s.heard)
	switch opened = opened || s.epoch != b.epoch; {
	case opened:
		came, span = b.limit-o.RateLimit.Remaining-b.own-b.inFlight, windowLength-b.end.Sub(o.Received)
		x.opening = max(0, came)
		switch {
		case b.day:
			return // most of what a day has counted is long over
		case came > 0:
			x.alone = min(x.alone, 0)
		case b.epoch > 1 && x.alone >= 0: // nobody else waited for this window
			x.alone = max(x.alone, trusted)
		}
	case came > 0:
		x.alone = crowded
	case x.alone >= 0 && x.alone < trusted:
		b.prove()
	}
	// The estimate: as many as came during our request are in flight now. It falls slowly, by 1/8
	// with each response, so that one quick response does not make others seem gone.
	if span = max(span, took); span > 0 && came > 0 {
		came = int((time.Duration(came)*x.took + span - 1) / span)
	}
	x.foreign = max(came, x.foreign-(x.foreign+7)/8)
}

// crowded reports whether others have used the key in the last windows.
func (b *Budget) crowded() bool { return b.others.alone < 0 }

// share returns how many requests that are not late may be in flight (rule 6).
func (b *Budget) share(now time.Time) int {
	left, x := b.left(), &b.others
	switch {
	case b.Processes == 1:
		return left
	case b.Processes > 1:
		return max(1, left/(2*b.Processes))
	}
	part := max(1, unknownPart>>(max(0, x.alone)/2))
	if now.Sub(b.heard) > quiet {
		part = max(part, quietPart)
	}
	// Their requests in flight may double while ours is in flight.
	return max(1, (left-2*x.foreign)/part, min(fewAtOnce, (left-rushPart*x.foreign)/fewPart))
}

// blindly returns how many requests may be in flight without rate limit headers (rule 8).
func (b *Budget) blindly() int {
	if b.gate.closures > 0 {
		return 1
	}
	return blindInFlight
}
