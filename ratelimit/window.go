package ratelimit

import (
	"log/slog"
	"net/http"
	"slices"
	"time"
)

// Window is the window of a rate limit according to the X-RateLimit headers of one response. If the
// window is used up, Limit is positive and Remaining is 0. The zero Window means that nothing is
// known, for example because a header is missing or malformed.
type Window struct {
	// Limit is the number of requests that the window allows.
	Limit int
	// Remaining is the number of requests that the window has left.
	Remaining int
	// Reset is the end of the window by the server's clock, in whole seconds.
	Reset time.Time
}

// IsZero reports whether nothing is known about the window.
func (w Window) IsZero() bool { return w == Window{} }

// LogValue returns limit, remaining and reset as a group; the group of the zero Window is empty.
func (w Window) LogValue() slog.Value {
	if w.IsZero() {
		return slog.GroupValue()
	}
	return slog.GroupValue(
		slog.Int("limit", w.Limit), slog.Int("remaining", w.Remaining),
		slog.Time("reset", w.Reset.UTC()))
}

const (
	day           = 24 * time.Hour
	sameWindow    = 30 * time.Second      // two Resets of one window differ by at most this
	grain         = time.Second           // Reset and Date are whole seconds
	longestMinute = time.Minute + 2*grain // a minute seems no longer, since both its ends are rounded
	mostLost      = 16                    // lost requests to remember before the limit is known
)

// updateWindow updates the budget from the headers of a response. They show three things: whether
// the response belongs to the known window, to a new one or to an old one; how many requests that
// window has left; and how many of its requests are foreign.
func (b *budget) updateWindow(s *snapshot, o *Outcome) {
	if o.Received.IsZero() || o.Window.Limit == 0 {
		b.lose(o)
		return
	}
	if _, usable := untilReset(o); !usable {
		b.replaceReset(o)
	}
	resetMoved := o.Window.Reset.Sub(b.reset) // both are times of the server's clock
	if resetMoved < -sameWindow && s.precedes(b.windowOutcome) {
		return // a late response of an old window
	}
	switch { // rule 3
	case b.limit == 0, resetMoved.Abs() > sameWindow: // if Reset is earlier, the window is of another limit
		b.openWindow()
		b.setWindow(s, o)
	case resetMoved >= 0: // if Reset is a little earlier, the response came late
		b.slides = b.slides || resetMoved > 0
		b.setWindow(s, o)
	}
	// Rule 1: if a lost request could reach the server only before this request was sent, it is no
	// longer subtracted: the server has subtracted it from this Remaining, or it will never arrive.
	b.lost = slices.DeleteFunc(b.lost, func(until time.Time) bool { return !until.After(o.Sent) })
	// Rule 2: if a sample came before this request was sent, the new Remaining replaces it. If the
	// two requests were in flight together, the lower Remaining counts.
	b.samples = slices.DeleteFunc(b.samples, func(x sample) bool {
		return !s.precedes(x.outcome) || x.remaining >= o.Window.Remaining
	})
	b.samples = append(b.samples, sample{b.outcomes, o.Window.Remaining})
	// A 429 shows nothing about others: it may be about another window than the one in its headers.
	if o.StatusCode != http.StatusTooManyRequests {
		b.sent++
		b.estimateOthers(s, o)
	}
}

// lose records a lost request: it has no response, or one without a window. It is subtracted from
// Remaining until updateWindow gets the response to a later request. More lost requests than the
// limit would change nothing, so the oldest is dropped: it is the least likely to arrive.
func (b *budget) lose(o *Outcome) {
	b.sent++
	until := o.Received.Add(1) // a request that was sent at this very moment is not newer
	if o.Received.IsZero() {
		until = b.now.Add(mayArrive)
	}
	b.lost = append(b.lost, until)
	if len(b.lost) > max(b.limit, mostLost) {
		b.lost = slices.Delete(b.lost, 0, 1)
	}
}

// replaceReset replaces a Reset that cannot be true, such as one in the past (rule 3). The window
// then ends a minute after its first response, by the local clock.
func (b *budget) replaceReset(o *Outcome) {
	o.Date, o.Window.Reset = time.Time{}, b.reset
	if !o.Received.Before(b.end) {
		o.Window.Reset = o.Received.Add(time.Minute)
	}
}

// openWindow forgets the last window. Lost requests stay: the new window may count them.
func (b *budget) openWindow() {
	b.windowOutcome = b.outcomes
	b.samples, b.sent, b.foreign = b.samples[:0], 0, 0
	if b.trust < 0 {
		b.trust++ // rule 6
	}
}

// setWindow sets the limit and the end of the window from a response of this window.
func (b *budget) setWindow(s *snapshot, o *Outcome) {
	if s.probe || !o.Window.Reset.Equal(b.reset) || b.kind == ReasonDay {
		b.openAt = o.Received // at the old openAt, another window may have been open, or the day
	}
	b.limit, b.reset = o.Window.Limit, o.Window.Reset
	b.end, b.kind = endOf(o, b.openAt, grain)
}

// untilReset returns the time from a response to its Reset, or a minute and false if the Reset
// cannot be true (rule 3). Reset is compared with Date, if there is one: both are by the server's
// clock.
func untilReset(o *Outcome) (left time.Duration, usable bool) {
	left = o.Window.Reset.Sub(o.Date)
	usable = left > 0
	if o.Date.IsZero() {
		left = o.Window.Reset.Sub(o.Received)
		// A Reset between about a minute and an hour away is not believed: a wrong clock is more
		// likely than such a window.
		usable = left > -grain && (left <= longestMinute || left >= time.Hour)
	}
	if !usable || left > day+2*grain {
		return time.Minute, false
	}
	return left, true
}

// endOf returns the local time at which the window of a response is certainly over, and the kind of
// the window: ReasonMinute or ReasonDay. It ends at its Reset, plus rounding, because Reset may be
// too low by that much. A window of a minute also ends a minute after openAt, when it was open.
func endOf(o *Outcome, openAt time.Time, rounding time.Duration) (end time.Time, kind Reason) {
	left, _ := untilReset(o)
	end = o.Received.Add(min(left+rounding, day))
	if left > longestMinute {
		return end, ReasonDay
	}
	if minute := openAt.Add(time.Minute); minute.Before(end) {
		end = minute
	}
	return end, ReasonMinute
}

// WindowEnd returns the local time at which the window of the response is certainly over, and the
// limit of the window: ReasonMinute or ReasonDay. Both are zero if the response has no window.
func (o Outcome) WindowEnd() (end time.Time, limit Reason) {
	if o.Received.IsZero() || o.Window.Limit == 0 {
		return time.Time{}, ""
	}
	return endOf(&o, o.Received, grain)
}

// LockoutEnd returns when the key opens again, and the limit that seems to have closed it:
// ReasonMinute, ReasonDay or ReasonBan. The outcome must be that of a 429. streak is the number of
// lockouts since the last success, including this one. From the second lockout on, the key may stay
// closed for longer than the response asks for: see rule 5 in README.md.
func (o Outcome) LockoutEnd(streak int) (end time.Time, limit Reason) {
	rounding := grain
	if o.RetryAfter > 0 { // the server has rounded it up
		end, rounding = o.Received.Add(o.RetryAfter), 0
	}
	window, _ := endOf(&o, o.Received, rounding)
	if !window.After(o.Received) {
		window = o.Received.Add(time.Minute)
	} else if !o.Window.IsZero() && (o.Window.Remaining == 0 || end.IsZero()) {
		end = later(end, window)
	}
	limit = ReasonMinute
	if end.Sub(window) > 2*grain { // end and window are both rounded
		limit = ReasonBan
	} else if end.Sub(o.Received) > longestMinute {
		limit = ReasonDay
	}
	if end.IsZero() { // neither Retry-After nor Reset is usable
		return o.Received.Add(time.Minute << min(max(0, streak-1), 4)), limit
	}
	if streak > 1 {
		end = later(end, o.Received.Add(min(time.Second<<min(streak-2, 6), time.Minute)))
	}
	return end, limit
}
