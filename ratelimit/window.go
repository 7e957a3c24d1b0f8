package ratelimit

import (
	"slices"
	"time"
)

const (
	// windowLength is the length of each window except that of the day.
	windowLength = time.Minute
	// longestWindow is the length of the window of the day. If a Reset is later than that, it is
	// wrong, or the Date of its response is.
	longestWindow = 24 * time.Hour
	// sameWindow is the largest difference between two Resets of the same window. The Resets of two
	// fixed windows are a minute apart, and that of a sliding window moves in small steps; 30
	// seconds separates the two cases.
	sameWindow = 30 * time.Second
	// resetGrain is the unit of Reset, which may be rounded down to whole seconds.
	resetGrain = time.Second
)

// window is the window that the last responses described. The server shows the window of the
// minute or that of the day, depending on which has fewer requests left.
type window struct {
	// epoch is the number of windows seen so far; 0 before the first.
	epoch int
	// limit is how many requests the window allows.
	limit int
	// shown is its Reset as the server sent it, for users to see.
	shown time.Time
	// reset is its end by the server's clock; zero if Reset is not usable. resetBy is the number of
	// the response that it is from.
	reset   time.Time
	resetBy int
	// start is a local time at which the window was open.
	start time.Time
	// end is the local time at which the window is certainly over.
	end time.Time
	// day reports whether the window is longer than a minute.
	day bool

	// own is how many requests of this process the window has counted.
	own int
	// slides reports whether the Reset of the window moves.
	slides bool
}

// scope returns the limit that this window belongs to.
func (w *window) scope() Reason {
	if w.day {
		return ReasonDay
	}
	return ReasonMinute
}

// compare returns 0 if a response belongs to the known window, 1 if it opens another one, and -1
// if it is of an old one. Resets are compared with each other: all are times of the server's
// clock, so that neither a wrong local clock nor the order of the responses matters. Without a
// usable Reset, the window in which the request was sent decides.
func (b *budget) compare(s slot, o *Outcome, usable bool) int {
	apart := o.Window.Reset.Sub(b.reset)
	switch known := s.epoch == b.epoch; {
	case b.epoch == 0:
		return 1
	case !usable && !known && !s.over && !b.slides:
		return -1
	case !usable && known && s.over:
		return 1 // the request was sent after the end of the known window
	case !usable || b.reset.IsZero():
		return 0
	case apart < -sameWindow && s.responses < b.resetBy:
		return -1
	case apart.Abs() > sameWindow:
		return 1 // if it is earlier, the server shows the window of another limit now
	}
	return 0
}

// describe updates the window from a response that belongs to it. If Reset moves although the
// window is the same, the window slides: its Reset is the time at which its oldest request leaves
// it.
func (b *budget) describe(s slot, o *Outcome, usable bool) {
	if b.start.IsZero() {
		b.start = o.Received
	}
	if s.responses >= b.resetBy {
		b.limit, b.shown = o.Window.Limit, o.Window.Reset
	}
	reset, known := o.Window.Reset, !b.reset.IsZero()
	moved := reset.Sub(b.reset).Abs() > resetGrain // less may be rounding
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
	b.end, _ = b.endOf(o, b.start, resetGrain)
	b.day = b.day || b.end.Sub(b.start) > windowLength
}

// describeByHand updates a window without a usable Reset, as a broken server reports it. A fixed
// window is over one minute after its oldest request was counted, at the latest; a sliding window
// then has room for one more.
func (b *budget) describeByHand(o *Outcome) {
	if o.Window.Remaining >= o.Window.Limit-1-b.inFlight {
		b.counted = tally{} // a new window: the requests of the old one are not in it
	}
	b.counted.add(tickOf(windowLength, o.Received), 1)
	b.end = beginOf(windowLength, b.counted.oldest()+1).Add(windowLength)
}

// endOf returns the local time at which the window of a response is certainly over, and whether
// its Reset is usable. start is a time at which the window was open.
//
// The limit resets at Reset by the server's clock. Of all clocks that offset allows, endOf takes
// the slowest. It adds the grain by which Reset may be rounded down; only windows that are minutes
// of the wall clock end exactly on whole seconds. A window of one minute that was open at start is
// over one minute later, even if the clocks allow a later end.
func (b *budget) endOf(o *Outcome, start time.Time, grain time.Duration) (time.Time, bool) {
	// A window that seems to be longer than a minute by up to slack is a minute.
	const slack = 10 * time.Second
	if b.minutes {
		grain = 0
	}
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

// samples has the Remaining of those responses of a window that are still valid. In which order the
// server counted the requests is not known. Therefore the lowest Remaining stays valid until the
// response to a later request comes: one that was sent when the response with the lowest Remaining
// had already arrived.
type samples struct {
	// responses is the number of outcomes so far, including those without a response.
	responses int
	low       []sample // valid samples, increasing in both fields
	// lost has an entry for each request whose effect on Remaining is not known: the time until which
	// it may reach the server.
	lost []time.Time
}

// sample is the Remaining of one response. The number of the response tells which requests were
// sent after it came.
type sample struct{ response, remaining int }

// stray is how long a request without a response may still be on its way after it was given up. One
// second is far more than a request usually takes to reach the server.
const stray = time.Second

// remaining returns the lowest valid Remaining. Requests in flight and lost ones are not
// subtracted.
func (r *samples) remaining() int {
	if len(r.low) == 0 {
		return 0
	}
	return r.low[0].remaining
}

// push adds a sample. Its request was sent at the time sent, when as many responses as known had
// come.
func (r *samples) push(known, response, remaining int, sent time.Time) {
	r.forgetLost(sent)
	r.low = slices.DeleteFunc(r.low, func(s sample) bool {
		return s.response <= known || s.remaining >= remaining
	})
	r.low = append(r.low, sample{response, remaining})
}

// forgetLost drops the lost requests that, at the time sent, had reached the server or could no
// longer reach it: the response to a request that was sent then counts them, if they count.
func (r *samples) forgetLost(sent time.Time) {
	r.lost = slices.DeleteFunc(r.lost, func(until time.Time) bool { return !sent.Before(until) })
}
