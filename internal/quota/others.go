package quota

import "time"

// What is left of the window is divided when others may use it at the same time (rule 6). Of the parts tried from
// 2 to 32 these are the largest with which the herds of internal/sim are not banned.
const (
	// unknownPart holds while a process does not know yet whether it is alone: two herds that start in the same
	// instant still fit, as half of their requests are in no response that the other has seen.
	unknownPart = 8
	// crowdedPart holds while others use the key: eight herds fit.
	crowdedPart = 16
	// calmPart holds if the last minute has left a quarter of the window at all times, so that nobody is about to
	// use it up: of ten calls that begin together all go at once while forty requests are left.
	calmPart = 4
	// fewAtOnce may go on small plans, of which a sixteenth is too little for a page of calls, unless what others
	// have on their way could take eight times as much.
	fewAtOnce = 6
	rushPart  = 8
)

// quiet is after how long without a response others may have come.
const quiet = 5 * time.Second

// blindInFlight is how many requests may be on their way as long as no response told of a limit.
const blindInFlight = 2

// others is what is known of other processes that use the key.
type others struct {
	opening   int  // requests of theirs in this window before our first
	theirs    int  // requests of theirs that are on their way, by what came while one of ours was
	shared    bool // they used this window
	wasShared bool // they used the one before
}

// watch looks for requests of others in this window, after the response to a request of ours.
func (b *Budget) watch(s Slot, o *Observation, opened bool) {
	x := &b.others
	took := o.Received.Sub(o.Sent)
	// What the window has counted since the last response before the request was sent, without what may have been ours.
	came, span := s.base-o.RateLimit.Remaining-b.admitted, o.Received.Sub(s.heard)
	if opened || s.epoch != b.epoch {
		came, span = b.limit-o.RateLimit.Remaining-b.own-b.inFlight, windowLength-b.end.Sub(o.Received)
		x.opening = max(0, came)
	} else if came > 0 {
		x.shared = true
	}
	// As many as came in the time of this request are on their way now. The estimate falls slowly, by an eighth
	// for each response, so that a quick response does not make others seem gone.
	if span = max(span, took); span > 0 && came > 0 {
		came = int((time.Duration(came)*took + span - 1) / span)
	}
	x.theirs = max(came, x.theirs-(x.theirs+7)/8)
}

// crowded reports whether others have used the key of late.
func (b *Budget) crowded() bool { return b.others.shared || b.others.wasShared }

// share is how many requests that are not late may be on their way (rule 6): all that is left, if nobody else
// uses the key.
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
		// What they have on their way may double while ours is: two of theirs for each that is known of.
		few = min(fewAtOnce, (left-rushPart*b.others.theirs)/calmPart)
		left -= 2 * b.others.theirs
		part = crowdedPart
		if now.Sub(b.tight) >= windowLength {
			part = calmPart
		}
	case b.epoch == 1:
		part = unknownPart
	case b.slides, now.Sub(b.heard) > quiet:
		// A sliding window does not show whose the requests are that it counts; and who was silent does not know
		// who came meanwhile.
		part, few = calmPart, fewAtOnce
	}
	return max(1, left/part, few)
}

// blindly is how many requests may be on their way without rate limit headers (rule 8).
func (b *Budget) blindly() int {
	if b.gate.trickle {
		return 1
	}
	return blindInFlight
}
