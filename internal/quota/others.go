package quota

import "time"

// If other processes may use the key, only a part of what is left of the window may be in flight
// here (rule 6): 1/8 of it with a part of 8. Parts from 2 to 32 were tried; these are the smallest
// numbers with which bench/sim shows no ban when several processes start together.
const (
	// unknownPart applies while a process does not know yet whether it is alone. Two processes that
	// start together still fit, although half of the requests of each do not show in the responses
	// to the other.
	unknownPart = 8
	// crowdedPart applies while others use the key. Eight processes that start together fit.
	crowdedPart = 16
	// calmPart applies if at least a quarter of the window was left throughout the last minute, so
	// that the others are not about to use it up. Ten calls that begin together then need not wait
	// while 40 requests are left.
	calmPart = 4
	// fewAtOnce requests may be in flight on small plans, of which a sixteenth is too little for a
	// web page with six calls. They take at most a quarter of what would be left if the others sent
	// rushPart times as many requests as they have in flight; 8 was enough in bench/sim.
	fewAtOnce = 6
	rushPart  = 8
)

// quiet is the time without a response after which other processes may have begun to use the key. 5
// seconds is longer than the pauses between the calls of a busy process.
const quiet = 5 * time.Second

// blindInFlight is how many requests may be in flight while no response has had a limit.
const blindInFlight = 2

// others is what is known about other processes that use the key.
type others struct {
	opening   int  // their requests in this window before our first one
	theirs    int  // estimate of their requests in flight
	shared    bool // they used this window
	wasShared bool // they used the previous window
}

// watch infers from the response to one of our requests how many requests of others the window has.
func (b *Budget) watch(s Slot, o *Observation, opened bool) {
	x := &b.others
	took := o.Received.Sub(o.Sent)
	// came: requests that the window counted since the last response before ours was sent, without
	// those that may have been ours. span: the time in which they came.
	came, span := s.base-o.RateLimit.Remaining-b.admitted, o.Received.Sub(s.heard)
	if opened || s.epoch != b.epoch {
		came, span = b.limit-o.RateLimit.Remaining-b.own-b.inFlight, windowLength-b.end.Sub(o.Received)
		x.opening = max(0, came)
	} else if came > 0 {
		x.shared = true
	}
	// The estimate: as many as came during our request are in flight now. It falls slowly, by 1/8
	// with each response, so that one quick response does not make others seem gone.
	if span = max(span, took); span > 0 && came > 0 {
		came = int((time.Duration(came)*took + span - 1) / span)
	}
	x.theirs = max(came, x.theirs-(x.theirs+7)/8)
}

// crowded reports whether others used this window or the previous one.
func (b *Budget) crowded() bool { return b.others.shared || b.others.wasShared }

// share returns how many requests that are not late may be in flight (rule 6): all that are left,
// if no other process uses the key.
func (b *Budget) share(now time.Time) int {
	left := b.left()
	part, few := 1, 0
	switch {
	case b.Processes > 0:
		part = 2 * b.Processes
		if b.Processes == 1 {
			part = 1
		}
	case b.crowded(), b.others.opening > 0:
		// Their requests in flight may double while ours is in flight.
		few = min(fewAtOnce, (left-rushPart*b.others.theirs)/calmPart)
		left -= 2 * b.others.theirs
		part = crowdedPart
		if now.Sub(b.tight) >= windowLength {
			part = calmPart
		}
	case b.epoch == 1:
		part = unknownPart
	case b.slides, now.Sub(b.heard) > quiet:
		// The headers of a sliding window do not show whose requests it counts. And after some time
		// without a response, others may have begun to use the key.
		part, few = calmPart, fewAtOnce
	}
	return max(1, left/part, few)
}

// blindly returns how many requests may be in flight without rate limit headers (rule 8).
func (b *Budget) blindly() int {
	if b.gate.trickle {
		return 1
	}
	return blindInFlight
}
