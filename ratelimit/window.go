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

// compare returns to which window a response belongs. It compares Resets with each other. All are
// times of the server's clock, so neither a wrong local clock nor the order of the responses
// matters. Without a usable Reset, the window in which the request was sent decides.
func (b *budget) compare(s slot, o *Outcome, usable bool) windowOrder {
	apart, known := o.Window.Reset.Sub(b.reset), s.epoch == b.epoch
	switch {
	case b.epoch == 0:
		return windowNext
	case !usable && !known && !s.over && !b.slides:
		return windowPast
	case !usable && known && s.over:
		return windowNext // the request was sent after the end of the known window
	case !usable, b.reset.IsZero():
		return windowSame
	case apart > sameWindow:
		return windowNext
	case apart < -sameWindow && s.responses < b.resetBy:
		return windowPast
	case apart < -sameWindow:
		return windowNext // the server shows the window of another limit now
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

// samples has the numbers from the responses of a window that are still valid. The order in which
// the server counted the requests is not known. Therefore the lowest Remaining is valid until
// there is a response to a request that was sent after the response with that Remaining came.
type samples struct {
	responses int      // number of outcomes so far, including those without a response
	low       []sample // valid samples, increasing in both fields
	// lost has the requests whose effect on Remaining is not known: until when they may reach the
	// server.
	lost []time.Time
	// counted has the time of the last response in each second of the last minute, while Reset is
	// not usable.
	counted []time.Time
}

// sample is the Remaining of one response.
type sample struct{ response, remaining int }

// count adds a request to counted.
func (r *samples) count(received time.Time) {
	if last := len(r.counted) - 1; last >= 0 && received.Unix() <= r.counted[last].Unix() {
		r.counted[last] = later(r.counted[last], received)
		return
	}
	r.counted = append(r.counted, received)
}

// stray is how long a request without a response may still be on its way after it was given up. One
// second is far more than a request usually takes to reach the server.
const stray = time.Second

// remaining returns the lowest valid Remaining.
func (r *samples) remaining() int {
	if len(r.low) == 0 {
		return 0
	}
	return r.low[0].remaining
}

// push adds a sample. Its request was sent at that time, when known responses had come.
func (r *samples) push(known, response, remaining int, sent time.Time) {
	r.forgetLost(sent)
	r.low = slices.DeleteFunc(r.low, func(s sample) bool { return s.response <= known || s.remaining >= remaining })
	r.low = append(r.low, sample{response, remaining})
}

// forgetLost drops the lost requests that had reached the server, or never will, when a request
// was sent.
func (r *samples) forgetLost(sent time.Time) {
	r.lost = slices.DeleteFunc(r.lost, func(until time.Time) bool { return !sent.Before(until) })
}

// offset is by how much the server's clock may be ahead of the local clock, at least and at most. The
// zero offset means that nothing is known.
type offset struct {
	known   bool // a response had a Date
	lo, hi  time.Duration
	at      time.Time // when they were right
	doubted bool      // the last Date contradicted them
}

// narrow narrows the offset by the Date of a response: the server's clock in whole seconds at some
// time between Sent and Received. Clocks drift, by 100 µs per second as a rule. They can also be
// set: then the second Date in a row that contradicts the others replaces them. A single one may be
// from a cache.
func (f *offset) narrow(o *Outcome) {
	if o.Date.IsZero() {
		return
	}
	const driftPerSecond = 100 * time.Microsecond
	lo, hi := o.Date.Sub(o.Received), o.Date.Add(time.Second).Sub(o.Sent)
	drift := time.Duration(max(0, o.Received.Sub(f.at).Seconds()) * float64(driftPerSecond))
	switch {
	case !f.known:
	case lo <= f.hi+drift && hi >= f.lo-drift:
		lo, hi = max(lo, f.lo-drift), min(hi, f.hi+drift)
	case !f.doubted:
		f.doubted = true
		return
	}
	*f = offset{true, lo, hi, o.Received, false}
}
