package petstore

import (
	"net/http"
	"slices"
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

// window is the one that the last answers described: the service shows the minute's or the day's,
// whichever has fewer requests left.
type window struct {
	epoch   int       // windows so far; 0: none was described yet
	limit   int       // requests that it allows
	shown   time.Time // its Reset as it came
	reset   time.Time // its end by the service's clock, zero if not usable
	resetBy int       // the answer that told so
	start   time.Time // local time at which it is known to have been open
	end     time.Time // local time at which it is over for certain
	day     bool      // it is longer than a minute

	slides    bool // its Reset moves
	exhausted bool
}

func (w *window) closure() LimitScope {
	if w.day {
		return ScopeDay
	}
	return ScopeMinute
}

// windowOrder tells how the window of an answer relates to the one that is known.
type windowOrder int

const (
	windowSame windowOrder = iota
	windowNext
	windowPast
)

// compare places the window of an answer. Resets are told apart by the service's own clock, so that
// neither a skewed clock nor the order of the answers matters; usable tells whether this one is of use.
func (b *budget) compare(s slot, o *Observation, usable bool) windowOrder {
	apart := o.RateLimit.Reset.Sub(b.reset)
	switch {
	case b.epoch == 0:
		return windowNext
	case !usable && s.epoch != b.epoch && !s.late && !b.slides:
		return windowPast
	case !usable && s.epoch == b.epoch && s.late:
		return windowNext // the one before was over
	case !usable || b.reset.IsZero():
		return windowSame
	case apart > sameWindow:
		return windowNext
	case apart < -sameWindow && s.answers < b.resetBy:
		return windowPast
	case apart < -sameWindow:
		return windowNext // the service describes another limit now
	}
	return windowSame
}

// describe updates the window by an answer that belongs to it.
func (b *budget) describe(s slot, o *Observation, usable bool) {
	opened := b.start.IsZero()
	if opened {
		b.start = o.Received
		b.end = b.start.Add(windowLength)
	}
	if s.answers >= b.resetBy {
		b.limit, b.shown = o.RateLimit.Limit, o.RateLimit.Reset
	}
	reset := o.RateLimit.Reset
	switch {
	case !usable:
		b.describeByHand(o, opened || b.rose(s, o))
		return
	case reset.Before(b.reset) && s.answers < b.resetBy:
		return
	}
	if moved := !reset.Equal(b.reset); moved || s.late {
		if !b.reset.IsZero() {
			b.start = o.Received // it slides: what was open at its start may be gone
		}
		if moved {
			b.slides = b.slides || !b.reset.IsZero()
			b.reset, b.resetBy = reset, b.answers
		}
	}
	b.end, _ = b.endOf(o, b.start)
	b.day = b.day || b.end.Sub(b.start) > windowLength
}

// describeByHand updates a window whose Reset is of no use. It is over, or if it slides has room again, a
// minute after the oldest of its requests was counted at the latest.
func (b *budget) describeByHand(o *Observation, more bool) {
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
	// Some may have been out of it when this answer was given, and are in its Remaining already.
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

// endOf is the local time at which the window of an answer is over, if its Reset is of any use, when
// it was open at start.
//
// The limit resets at Reset (section 8.2), by a clock of which the latest reading is assumed, and up to
// a second later: Reset has whole seconds, which only the minutes of a clock end on for certain. A
// minute's window that was open at start is over a minute later, however uncertain all that is.
func (b *budget) endOf(o *Observation, start time.Time) (time.Time, bool) {
	return b.endWithin(o, start, b.grain())
}

// grain is by how much Reset may have been rounded down.
func (b *budget) grain() time.Duration {
	if b.minutes {
		return 0
	}
	return resetGrain
}

// endWithin is endOf for a Reset that has been rounded down by grain at most.
func (b *budget) endWithin(o *Observation, start time.Time, grain time.Duration) (time.Time, bool) {
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

// isMinute reports whether the window that an answer is the first of is a minute of the clock: it ends
// on one, and is older than the request which otherwise would have begun it.
func (b *budget) isMinute(o *Observation) bool {
	if o.RateLimit.Reset.Unix()%60 != 0 {
		return false
	}
	const young = 2 * time.Second
	end, usable := b.endOf(o, o.Received)
	return b.minutes || usable && end.Sub(o.Received) < windowLength-young
}

// readings are what the answers of a window said about it, as far as it counts: the service's own
// order is not known, so that the lowest Remaining holds until a request that was sent after its
// answer came has been answered too.
type readings struct {
	answers int       // answers so far, lost ones included
	floor   int       // answers up to this one are superseded
	low     []reading // increasing in both fields
	lost    []loss    // requests of which nothing is known
	counted []count   // requests of the last minute, as long as Reset is of no use
}

type reading struct{ answer, remaining int }

// count tells between when and when a request was counted, by a service that may count by the second.
type count struct{ from, to time.Time }

// loss is a request without an answer, or with one that told nothing.
type loss struct {
	answer int
	at     time.Time // when it was given up, zero if an answer shows that it has arrived
}

// stray is how long a request may still be on its way when nobody waits for it any more.
const stray = time.Second

// mayStray reports whether a request sent at sent may have been overtaken by l.
func (l loss) mayStray(sent time.Time) bool { return sent.Sub(l.at) < stray }

// remaining is the lowest that holds.
func (r *readings) remaining() int {
	if len(r.low) == 0 {
		return 0
	}
	return r.low[0].remaining
}

// rose reports whether a request that was sent when the lowest Remaining was known found more.
func (r *readings) rose(s slot, o *Observation) bool {
	return len(r.low) > 0 && s.answers >= r.low[0].answer && o.RateLimit.Remaining > r.low[0].remaining
}

// push adds what an answer says, whose request was sent when that many answers were known.
func (r *readings) push(known, answer, remaining int, sent time.Time) {
	r.floor = max(r.floor, known)
	n := 0
	for n < len(r.low) && r.low[n].answer <= r.floor {
		n++
	}
	r.low = slices.Delete(r.low, 0, n)
	r.lost = slices.DeleteFunc(r.lost, func(l loss) bool { return l.answer <= known && !l.mayStray(sent) })
	for n = len(r.low); n > 0 && r.low[n-1].remaining >= remaining; n-- {
	}
	r.low = append(r.low[:n], reading{answer, remaining})
}

// offset bounds how far the service's clock is ahead of the local one.
type offset struct {
	known  bool
	lo, hi time.Duration
	at     time.Time
}

// narrow takes in the Date of an answer, which was now, to the second, somewhere between Sent and
// Received. Clocks drift, and are set: what contradicts is forgotten.
func (f *offset) narrow(o *Observation) {
	if o.Date.IsZero() {
		return
	}
	const driftPerSecond = 100 * time.Microsecond
	lo, hi := o.Date.Sub(o.Received), o.Date.Add(time.Second).Sub(o.Sent)
	if drift := time.Duration(max(0, o.Received.Sub(f.at).Seconds()) * float64(driftPerSecond)); f.known &&
		f.lo-drift <= hi && lo <= f.hi+drift {
		lo, hi = max(lo, f.lo-drift), min(hi, f.hi+drift)
	}
	*f = offset{true, lo, hi, o.Received}
}
