package quota

import "time"

// unknownPart divides what is left when others may have come at the same time: eight herds that start in the same
// instant on a fresh window then fit into it.
const unknownPart = 8

// calmPart is the same when the last minute has left a quarter of the window at least, so that nobody is about to
// use it up: ten calls at once then go at once with forty requests left.
const calmPart = 4

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
	came, span := s.base-o.RateLimit.Remaining-b.admitted-len(b.lost), o.Received.Sub(s.heard)
	if opened || s.epoch != b.epoch {
		came, span = b.limit-o.RateLimit.Remaining-1-b.inFlight, windowLength-b.end.Sub(o.Received)
		x.opening = max(0, came)
	} else if came > 0 {
		x.shared = true
	}
	// As many as came in the time of one request.
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
	part := 1
	switch {
	case b.Processes > 0:
		part = 2 * b.Processes
		if b.Processes == 1 {
			part = 1
		}
	case b.crowded(), b.others.opening > 0:
		// What they have on their way may double while ours is: two of theirs for each that is known of.
		left -= 2 * b.others.theirs
		part = unknownPart
		if now.Sub(b.tight) >= windowLength {
			part = calmPart
		}
	case b.epoch == 1:
		part = unknownPart
	case b.slides, now.Sub(b.heard) > quiet:
		// Whose the requests are that a sliding window counts its responses do not tell; and who has been silent
		// does not know who came.
		part = calmPart
	}
	return max(1, left/part)
}

// blindly is how many requests may be on their way without rate limit headers (rule 8).
func (b *Budget) blindly() int {
	if b.gate.trickle {
		return 1
	}
	return blindInFlight
}
