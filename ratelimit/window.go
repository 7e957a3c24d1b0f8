package ratelimit

import (
	"net/http"
	"slices"
	"time"
)

const (
	// windowLength is the length of a window of the plans apart from that of the
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

// window is the window that the last responses described. The server shows the window of the
// minute or that of the day, depending on which has fewer requests left.
type window struct {
	epoch   int       // number of windows seen; 0 before the first
	limit   int       // requests that it allows
	shown   time.Time // its Reset, unchanged
	reset   time.Time // its end by the server's clock; zero if Reset is not usable
	resetBy int       // the response that reset is from
	start   time.Time // a local time at which it was open
	end     time.Time // the local time at which it is certainly over
	day     bool      // it is longer than a minute
	other   bool      // the window before had another length, so this one may have counted our requests

	own    int  // number of our requests that it counted
	slides bool // its Reset moves
}

// scope returns the limit that this window belongs to.
func (w *window) scope() Scope {
	if w.day {
		return ScopeDay
	}
	return ScopeMinute
}

// windowOrder is how the window of a response relates to the known window.
type windowOrder int

const (
	windowSame windowOrder = iota
	windowNext
	windowPast
)

// compare returns to which window a response belongs.
func (b *budget) compare(s slot, o *Outcome, usable bool) windowOrder {
	switch {
	case b.epoch == 0:
		return windowNext
	case !usable:
		return b.compareRequest(s)
	case b.reset.IsZero():
		return windowSame
	}
	return b.compareReset(s, o)
}

// compareReset compares Resets with each other. All are times of the server's clock, so neither a
// wrong local clock nor the order of the responses matters.
func (b *budget) compareReset(s slot, o *Outcome) windowOrder {
	switch apart := o.Window.Reset.Sub(b.reset); {
	case apart > sameWindow:
		return windowNext
	case apart < -sameWindow && s.responses < b.resetBy:
		return windowPast
	case apart < -sameWindow:
		return windowNext // the server shows the window of another limit now
	}
	return windowSame
}

// compareRequest is for a response without a usable Reset: the window in which its request was sent
// decides.
func (b *budget) compareRequest(s slot) windowOrder {
	switch known := s.epoch == b.epoch; {
	case !known && !s.over && !b.slides:
		return windowPast
	case known && s.over:
		return windowNext // the request was sent after the end of the known window
	}
	return windowSame
}

// describe updates the window from a response that belongs to it.
func (b *budget) describe(s slot, o *Outcome, usable bool) {
	if b.start.IsZero() {
		b.start = o.Received
		b.end = b.start.Add(windowLength)
	}
	if s.responses >= b.resetBy {
		b.limit, b.shown = o.Window.Limit, o.Window.Reset
	}
	reset, known := o.Window.Reset, !b.reset.IsZero()
	moved := !reset.Equal(b.reset)
	switch {
	case !usable:
		b.describeByHand(o)
		return
	case reset.Before(b.reset) && s.responses < b.resetBy:
		return
	case known && (moved || s.over):
		b.start = o.Received // it slides: its old start may no longer be in it
	}
	if moved {
		b.slides = b.slides || known
		b.reset, b.resetBy = reset, b.responses
	}
	b.end, _ = b.endOf(o, b.start)
	b.day = b.day || b.end.Sub(b.start) > windowLength
}

// describeByHand updates a window without a usable Reset. A fixed window is over one minute after
// its oldest request was counted, at the latest; a sliding window then has room for one more.
func (b *budget) describeByHand(o *Outcome) {
	if o.Window.Remaining >= o.Window.Limit-1-b.inFlight {
		b.counted = b.counted[:0] // a new window: the requests of the old one are not in it
	}
	if o.StatusCode != http.StatusTooManyRequests {
		b.count(o.Received)
	}
	b.counted = slices.DeleteFunc(b.counted, func(t time.Time) bool { return !o.Received.Before(t.Add(windowLength)) })
	if len(b.counted) > 0 {
		b.end = b.counted[0].Add(windowLength)
	}
}

// endOf returns the local time at which the window of a response is certainly over, and whether its
// Reset is usable. start is a time at which the window was open.
//
// The limit resets at Reset by the server's clock. Of all clocks that offset allows,
// endOf takes the slowest. It adds the second by which Reset may be rounded down; only windows that
// are minutes of the wall clock end exactly on whole seconds. A window of one minute that was open
// at start is over one minute later, also if the clocks allow a later end.
func (b *budget) endOf(o *Outcome, start time.Time) (time.Time, bool) {
	if b.minutes {
		return b.endWithin(o, start, 0)
	}
	return b.endWithin(o, start, resetGrain)
}

// endWithin is endOf for a Reset that is rounded down by at most grain.
func (b *budget) endWithin(o *Outcome, start time.Time, grain time.Duration) (time.Time, bool) {
	const slack = 10 * time.Second // a window that seems too long by up to this is a minute
	left := o.Window.Reset.Sub(o.Received.Add(b.offset.lo - b.margin - grain))
	if left > longestWindow+slack { // Reset or Date is wrong
		return start.Add(windowLength), false
	}
	end, most := o.Received.Add(min(left, longestWindow)), start.Add(windowLength)
	if off := end.Sub(most); off > 0 && off <= slack {
		end = most
	}
	if b.offset.known {
		return end, o.Window.Reset.After(o.Date)
	}
	// Without a Date, a clock that is wrong by minutes is more likely than a window of minutes.
	minutes := left > windowLength+slack && left < time.Hour
	return end, left > 0 && !minutes
}

// isMinute reports whether windows are minutes of the wall clock; o is the first response of a
// window. They are if this window ends on a full minute and began before the request: otherwise the
// request would have begun it.
func (b *budget) isMinute(o *Outcome) bool {
	if o.Window.Reset.Unix()%60 != 0 {
		return false
	}
	const recent = 2 * time.Second // a window younger than this may have begun with the request
	end, usable := b.endOf(o, o.Received)
	return b.minutes || usable && end.Sub(o.Received) < windowLength-recent
}
