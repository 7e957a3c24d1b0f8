package quota

import (
	"net/http"
	"time"
)

const (
	// windowLength is the length of a window of the plans (section 8.1), apart from that of the
	// day.
	windowLength = time.Minute
	// longestWindow is the length of the window of the day. A Reset beyond it, or the Date of its
	// response, is wrong.
	longestWindow = 24 * time.Hour
	// sameWindow is the largest difference between two Resets of the same window. The Resets of two
	// fixed windows are a minute apart, and that of a sliding window moves in small steps; 30
	// seconds separates the two cases.
	sameWindow = 30 * time.Second
	// resetGrain is the grain of Reset, which may be rounded down to whole seconds.
	resetGrain = time.Second
)

// window is the window that the last responses described. The service shows the window of the
// minute or that of the day, depending on which has fewer requests left.
type window struct {
	epoch   int       // number of windows seen; 0 before the first
	limit   int       // requests that it allows
	shown   time.Time // its Reset, unchanged
	reset   time.Time // its end by the service's clock; zero if Reset is not usable
	resetBy int       // the response that reset is from
	start   time.Time // a local time at which it was open
	end     time.Time // the local time at which it is certainly over
	day     bool      // it is longer than a minute
	other   bool      // the window before had another length, so this one may have counted our requests

	own    int  // number of our requests that it counted
	slides bool // its Reset moves
}

// rolls reports whether, as far as known, a new window with its full limit follows this one.
func (w *window) rolls() bool { return w.epoch > 1 && !w.slides }

// scope returns the limit that this window belongs to.
func (w *window) scope() Scope {
	if w.day {
		return Day
	}
	return Minute
}

// windowOrder is how the window of a response relates to the known window.
type windowOrder int

const (
	windowSame windowOrder = iota
	windowNext
	windowPast
)

// compare returns to which window a response belongs. It compares Resets with each other. All are
// times of the service's clock, so neither a wrong local clock nor the order of the responses
// matters. usable is whether the Reset of this response is usable.
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
		return windowNext // the service shows the window of another limit now
	}
	return windowSame
}

// compareByHand is compare without a usable Reset: the window in which the request was sent
// decides.
func (b *Budget) compareByHand(s Slot) windowOrder {
	switch same := s.epoch == b.epoch; {
	case !same && !s.over && !b.slides:
		return windowPast
	case same && s.over:
		return windowNext // the request was sent after the end of the known window
	}
	return windowSame
}

// describe updates the window from a response that belongs to it.
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

// moveReset updates the Reset of the window from a response that belongs to it.
func (b *Budget) moveReset(s Slot, o *Observation) {
	reset := o.RateLimit.Reset
	moved := !reset.Equal(b.reset)
	if !moved && !s.over {
		return
	}
	if !b.reset.IsZero() {
		b.start = o.Received // it slides: its old start may no longer be in it
	}
	if moved {
		b.slides = b.slides || !b.reset.IsZero()
		b.reset, b.resetBy = reset, b.responses
	}
}

// describeByHand updates a window without a usable Reset. A fixed window is over one minute after
// its oldest request was counted, at the latest; a sliding window then has room for one more.
func (b *Budget) describeByHand(o *Observation, more bool) {
	fresh := o.RateLimit.Remaining >= o.RateLimit.Limit-1-b.inFlight
	if more && fresh {
		b.forget(len(b.counted)) // a new window: the requests of the old one are not in it
	} else if more {
		b.slides = b.slides || b.epoch > 1
	}
	if o.StatusCode != http.StatusTooManyRequests {
		b.count(o)
	}
	for len(b.counted) > 0 && (hasLeft(b.counted[0].to, o) || b.total-b.counted[0].n >= b.limit) {
		b.forget(1) // no window counts more
	}
	b.endByHand(o)
}

// hasLeft reports whether a request that was counted at a time had left its window when a response
// came.
func hasLeft(counted time.Time, o *Observation) bool {
	return !o.Received.Before(counted.Add(windowLength))
}

// endByHand forgets what has left the window before a response, and finds the end of the window.
func (b *Budget) endByHand(o *Observation) {
	// unsure: entries that may have left the window before this response. Its Remaining then
	// includes their room already.
	unsure, sure := 0, b.total
	for unsure < len(b.counted) && hasLeft(b.counted[unsure].from, o) {
		sure -= b.counted[unsure].n
		unsure++
	}
	if o.RateLimit.Limit-o.RateLimit.Remaining <= sure+b.inFlight {
		b.forget(unsure) // all of these have left the window
		unsure = 1
	}
	if len(b.counted) > 0 {
		b.end = b.counted[max(unsure, 1)-1].to.Add(windowLength + b.margin)
	}
}

// endOf returns the local time at which the window of a response is certainly over, and whether its
// Reset is usable. start is a time at which the window was open.
//
// The limit resets at Reset (section 8.2) by the service's clock. Of all clocks that offset allows,
// endOf takes the slowest. It adds the second by which Reset may be rounded down; only windows that
// are minutes of the wall clock end exactly on whole seconds. A window of one minute that was open
// at start is over one minute later, also if the clocks allow a later end.
func (b *Budget) endOf(o *Observation, start time.Time) (time.Time, bool) {
	return b.endWithin(o, start, b.grain())
}

// grain returns by how much Reset may be rounded down.
func (b *Budget) grain() time.Duration {
	if b.minutes {
		return 0
	}
	return resetGrain
}

// endWithin is endOf for a Reset that is rounded down by at most grain.
func (b *Budget) endWithin(o *Observation, start time.Time, grain time.Duration) (time.Time, bool) {
	const (
		slack = 10 * time.Second // a window that seems too long by up to this is a minute
		hour  = time.Hour        // clocks without a Date may differ by minutes, not by hours
	)
	left := o.RateLimit.Reset.Sub(o.Received.Add(b.offset.lo - b.margin - grain))
	if left > longestWindow+slack { // Reset or Date is wrong
		return start.Add(windowLength), false
	}
	left = min(left, longestWindow)
	end, most := o.Received.Add(left), start.Add(windowLength)
	if off := end.Sub(most); off > 0 && off <= slack {
		end = most
	}
	if b.offset.known {
		return end, o.RateLimit.Reset.After(o.Date)
	}
	// Without a Date, a clock that is wrong by minutes is more likely than a window of minutes.
	minutes := left > windowLength+slack && left < hour
	return end, !b.distrust && left > 0 && !minutes
}

// isMinute reports whether windows are minutes of the wall clock; o is the first response of a
// window. They are if this window ends on a full minute and began before the request: otherwise the
// request would have begun it.
func (b *Budget) isMinute(o *Observation) bool {
	if o.RateLimit.Reset.Unix()%60 != 0 {
		return false
	}
	const recent = 2 * time.Second // a window younger than this may have begun with the request
	end, usable := b.endOf(o, o.Received)
	return b.minutes || usable && end.Sub(o.Received) < windowLength-recent
}

// offset is the least by which the service's clock may be ahead of the local clock. The zero offset
// means that nothing is known.
type offset struct {
	known bool          // a response had a Date
	lo    time.Duration // the least by which the service's clock is ahead
	at    time.Time     // when lo was right
}

// narrow raises lo by the Date of a response: the service's clock in whole seconds at some time
// between Sent and Received. Clocks drift and can be set: if the response contradicts the old lo, its
// own replaces it. 100 µs per second is a common limit for the drift of a clock.
func (f *offset) narrow(o *Observation) {
	if o.Date.IsZero() {
		return
	}
	const driftPerSecond = 100 * time.Microsecond
	lo, most := o.Date.Sub(o.Received), o.Date.Add(time.Second).Sub(o.Sent)
	drift := time.Duration(max(0, o.Received.Sub(f.at).Seconds()) * float64(driftPerSecond))
	if known := f.lo - drift; f.known && known <= most {
		lo = max(lo, known)
	}
	*f = offset{true, lo, o.Received}
}
