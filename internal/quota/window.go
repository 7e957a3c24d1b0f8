package quota

import (
	"net/http"
	"time"
)

const (
	// windowLength is that of the plans (section 8.1), the day's apart.
	windowLength = time.Minute
	// sameWindow is how far the Resets of one window may lie apart; those of two are a minute apart,
	// and a sliding one moves in small steps.
	sameWindow = 30 * time.Second
	// resetGrain is the grain of Reset, which may have been rounded down.
	resetGrain = time.Second
)

// window is the one that the last responses described: the service shows the minute's or the day's,
// whichever has fewer requests left.
type window struct {
	epoch   int       // windows so far; 0: none was described yet
	limit   int       // requests that it allows
	shown   time.Time // its Reset as it came
	reset   time.Time // its end by the service's clock, zero if not usable
	resetBy int       // the response that told so
	start   time.Time // local time at which it is known to have been open
	end     time.Time // local time at which it is over for certain
	day     bool      // it is longer than a minute

	own       int  // of our requests, those that it counted
	slides    bool // its Reset moves
	exhausted bool
}

// rolls reports whether the window is known to be followed by one with all its room.
func (w *window) rolls() bool { return w.epoch > 1 && !w.slides }

// scope is the limit whose window it is.
func (w *window) scope() Scope {
	if w.day {
		return Day
	}
	return Minute
}

// windowOrder tells how the window of a response relates to the one that is known.
type windowOrder int

const (
	windowSame windowOrder = iota
	windowNext
	windowPast
)

// compare places the window of a response. Resets are told apart by the service's own clock, so that
// neither a skewed clock nor the order of the responses matters; usable tells whether this one is of use.
func (b *Budget) compare(s Slot, o *Observation, usable bool) windowOrder {
	apart := o.RateLimit.Reset.Sub(b.reset)
	switch {
	case b.epoch == 0:
		return windowNext
	case !usable:
		return b.compareByHand(s)
	case b.reset.IsZero():
		return windowSame
	case apart > sameWindow:
		return windowNext
	case apart < -sameWindow && s.responses < b.resetBy:
		return windowPast
	case apart < -sameWindow:
		return windowNext // the service describes another limit now
	}
	return windowSame
}

// compareByHand is compare where Reset is of no use: the window in which the request was sent decides.
func (b *Budget) compareByHand(s Slot) windowOrder {
	switch same := s.epoch == b.epoch; {
	case !same && !s.over && !b.slides:
		return windowPast
	case same && s.over:
		return windowNext // the one before was over
	}
	return windowSame
}

// describe updates the window by a response that belongs to it.
func (b *Budget) describe(s Slot, o *Observation, usable bool) {
	opened := b.start.IsZero()
	if opened {
		b.start = o.Received
		b.end = b.start.Add(windowLength)
	}
	if s.responses >= b.resetBy {
		b.limit, b.shown = o.RateLimit.Limit, o.RateLimit.Reset
	}
	reset := o.RateLimit.Reset
	switch {
	case !usable:
		b.describeByHand(o, opened || b.rose(s, o))
		return
	case reset.Before(b.reset) && s.responses < b.resetBy:
		return
	}
	b.moveReset(s, o)
	b.end, _ = b.endOf(o, b.start)
	b.day = b.day || b.end.Sub(b.start) > windowLength
}

// moveReset takes over the Reset of a response that belongs to the window.
func (b *Budget) moveReset(s Slot, o *Observation) {
	reset := o.RateLimit.Reset
	moved := !reset.Equal(b.reset)
	if !moved && !s.over {
		return
	}
	if !b.reset.IsZero() {
		b.start = o.Received // it slides: what was open at its start may be gone
	}
	if moved {
		b.slides = b.slides || !b.reset.IsZero()
		b.reset, b.resetBy = reset, b.responses
	}
}

// describeByHand updates a window whose Reset is of no use. It is over, or if it slides has room again, a
// minute after the oldest of its requests was counted at the latest.
func (b *Budget) describeByHand(o *Observation, more bool) {
	switch fresh := o.RateLimit.Remaining >= o.RateLimit.Limit-1-b.inFlight; {
	case more && fresh:
		b.counted = b.counted[:0] // nothing of before is in it
	case more && b.epoch > 1:
		b.slides = true
	}
	for len(b.counted) > 0 && !o.Received.Before(b.counted[0].to.Add(windowLength)) {
		b.counted = b.counted[1:]
	}
	if o.StatusCode != http.StatusTooManyRequests {
		b.counted = append(b.counted, count{o.Sent.Add(-resetGrain), o.Received})
		b.counted = b.counted[max(0, len(b.counted)-b.limit):] // no window counts more
	}
	// Some may have been out of it when this response was given, and are in its Remaining already.
	unsure := 0
	for unsure < len(b.counted) && !o.Received.Before(b.counted[unsure].from.Add(windowLength)) {
		unsure++
	}
	if o.RateLimit.Limit-o.RateLimit.Remaining <= len(b.counted)-unsure+b.inFlight {
		b.counted, unsure = b.counted[unsure:], 1 // all of them
	}
	if len(b.counted) > 0 {
		b.end = b.counted[max(unsure, 1)-1].to.Add(windowLength + b.margin)
	}
}

// endOf is the local time at which the window of a response is over, if its Reset is of any use, when
// it was open at start.
//
// The limit resets at Reset (section 8.2), by a clock of which the latest reading is assumed, and up to
// a second later: Reset has whole seconds, which only the minutes of a clock end on for certain. A
// minute's window that was open at start is over a minute later, however uncertain all that is.
func (b *Budget) endOf(o *Observation, start time.Time) (time.Time, bool) {
	return b.endWithin(o, start, b.grain())
}

// grain is by how much Reset may have been rounded down.
func (b *Budget) grain() time.Duration {
	if b.minutes {
		return 0
	}
	return resetGrain
}

// endWithin is endOf for a Reset that has been rounded down by grain at most.
func (b *Budget) endWithin(o *Observation, start time.Time, grain time.Duration) (time.Time, bool) {
	const slack, hour, longest = 10 * time.Second, time.Hour, 400 * 24 * time.Hour
	left := o.RateLimit.Reset.Sub(o.Received)
	if left > longest {
		return start.Add(windowLength), false
	}
	left += grain + b.margin - b.offset.lo
	end, most := o.Received.Add(left), start.Add(windowLength)
	if off := end.Sub(most); off > 0 && off <= slack {
		end = most
	}
	if b.offset.known {
		return end, o.RateLimit.Reset.After(o.Date)
	}
	// Without a Date, a clock that is minutes off is likelier than a window of minutes.
	minutes := left > windowLength+slack && left < hour
	return end, !b.distrust && left > 0 && !minutes
}

// isMinute reports whether the window that a response is the first of is a minute of the clock: it ends
// on one, and is older than the request which otherwise would have begun it.
func (b *Budget) isMinute(o *Observation) bool {
	if o.RateLimit.Reset.Unix()%60 != 0 {
		return false
	}
	const young = 2 * time.Second
	end, usable := b.endOf(o, o.Received)
	return b.minutes || usable && end.Sub(o.Received) < windowLength-young
}
