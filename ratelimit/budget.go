package ratelimit

import (
	"net/http"
	"time"
)

// budget decides what one key may send. It is a state machine without a lock, a clock or a timer:
// admit asks for one request, and settle reports its outcome, in any order. The zero budget knows
// nothing about the key. README.md has its rules.
//
// Why the key stays within its limit (rules 1 and 2): of the requests of this window that have a
// response, take the one that the server counted last. The Remaining of its response stays in low
// until the response to a request that was sent later replaces it. All requests that this number
// does not include are in flight or lost, and admit subtracts these.
//
// Each part has a file: window.go has the current window and what is left of it, offset.go the
// server's clock, others.go the other processes, probe.go the requests that go first, lockout.go
// what follows a 429, event.go what is reported, and tally.go counts.
type budget struct {
	// processes is the number of processes that use the key, including this one, each with its own
	// budget. 0 means that the number is not known, so that the budget infers it (rule 6).
	processes int
	// pooled reports whether a pot knows of the other processes; see Shared.
	pooled bool
	// potLeft is what the pot's window has left, together with permits that may come back unused.
	potLeft int
	// alone reports whether the pot fails now: then this process uses no more than its share of a
	// window.
	alone bool

	// now is the latest time that was observed, and era how often the clock was set back so far.
	now time.Time
	era int

	window
	samples
	offset offset
	// margin is added to Reset after a window has turned out to end later than its Reset.
	margin time.Duration
	// minutes reports whether the windows are minutes of the wall clock.
	minutes bool
	others  others
	probes  probes
	// recent counts the requests in flight that are not late (rule 7).
	recent  tally
	lockout lockout

	reported reported
	// hours counts the requests of the last day.
	hours tally
	// counted counts the requests of the last minute while Reset is not usable.
	counted tally

	// inFlight is how many admitted requests have no outcome yet.
	inFlight int
	// admitted is how many requests were ever admitted.
	admitted int
	// heard is when the last response came.
	heard time.Time
}

// blindInFlight is how many requests may be in flight while no response has shown a limit. After
// the first 429 it is one.
const blindInFlight = 2

// lateAfter is the time after which a request in flight is late, to within a tick: five times the
// longest usual latency. A late request no longer holds up others: a server that is slow at
// times must not stop the whole program.
const lateAfter = time.Second

// backgroundPart: background requests leave 1/10 of each window to those that should not wait. So
// a program with both kinds of calls keeps some requests for those that a person waits for.
const backgroundPart = 10

// slot is the state of the budget when it admitted a request. settle compares it with the state
// when the outcome comes: what has changed meanwhile may or may not include this request.
type slot struct {
	// These are the numbers that the budget had: see era, window.epoch, samples.responses and
	// lockout.count.
	era, epoch, responses, lockouts int

	admitted time.Time

	// base is what was left, plus all requests admitted so far, minus those in flight: by it, later
	// requests of this process can be told from those of others.
	base int
	// heard is when the last response before this request came.
	heard time.Time

	// probe reports whether the others wait for the response to this request.
	probe bool
	// over reports whether the window was over, or might be: the request may be in the next one.
	over bool
}

// hold is what a request has to wait for. A queue reports the reason to its waiters, and refuses
// those for which the time is too long.
type hold struct {
	reason Reason
	until  time.Time // zero if it depends on a response
	// wake is when to ask again if no response comes earlier; zero for never.
	wake time.Time
}

// admit reserves one request, or returns what it has to wait for. A background request must leave a
// larger reserve.
func (b *budget) admit(now time.Time, background bool) (slot, hold, bool) {
	now = b.observe(now)
	if until := b.lockout.until; !passed(now, until) {
		return slot{}, hold{b.lockout.scope, until, until}, false
	}
	reserve := b.reserve(background)
	probe := b.needsProbe(now, reserve)
	if probe {
		if wake, ok := b.mayProbe(now); !ok {
			return slot{}, hold{reason: ReasonResponse, wake: wake}, false
		}
		b.probes.inFlight++
		b.probes.at = now
	} else if h, ok := b.fits(reserve); !ok {
		return slot{}, h, false
	}
	return b.take(now, probe), hold{}, true
}

// take reserves one request. It does not ask whether there is room: its callers have done so.
func (b *budget) take(now time.Time, probe bool) slot {
	b.inFlight++
	b.admitted++
	b.recent.add(tickOf(lateAfter, now), 1)
	return slot{
		b.era, b.epoch, b.responses, b.lockout.count, now,
		b.left() + b.admitted - b.inFlight, b.heard, probe, probe || passed(now, b.end),
	}
}

// observe records the time, and returns it. If the clock was set back, as between two synctest
// bubbles, the budget forgets everything. After a small correction the time of the budget stands
// still instead: to forget everything would open a key that is closed.
func (b *budget) observe(now time.Time) time.Time {
	const correction = time.Second
	switch {
	case !now.Before(b.now):
		b.now = now
	case b.now.Sub(now) > correction:
		*b = budget{processes: b.processes, pooled: b.pooled, alone: b.alone, era: b.era + 1, now: now}
	}
	b.recent.advance(tickOf(lateAfter, b.now))
	return b.now
}

// passed reports whether t is zero or has passed.
func passed(now, t time.Time) bool { return !now.Before(t) }

// reserve returns how many requests of the window must be left after this one.
func (b *budget) reserve(background bool) int {
	if b.alone && b.own+b.inFlight >= max(1, b.limit/max(1, b.processes)) {
		return b.limit
	}
	n := b.leftToOthers()
	if background {
		n += b.limit / backgroundPart
	}
	return n
}

// fits reports whether enough is left for one more request (rule 1), and whether it may be in
// flight at once with the others (rules 6 and 8). If not, it returns what to wait for: the end of
// the window if that is used up, else a response.
func (b *budget) fits(reserve int) (hold, bool) {
	usedUp := b.epoch > 0 && b.left()-b.inFlight <= reserve
	switch {
	case usedUp && b.mayShow() <= reserve:
		return hold{b.window.scope(), b.end, b.end}, false
	case usedUp, int(b.recent.total) >= b.most():
		return hold{reason: ReasonResponse, wake: b.nextLate()}, false
	}
	return hold{}, true
}

// nextLate returns when the oldest request in flight is late; zero if all are.
func (b *budget) nextLate() time.Time {
	if b.recent.total == 0 {
		return time.Time{}
	}
	return beginOf(lateAfter, b.recent.oldest()+ticks)
}

// most returns how many requests that are not late may be in flight.
func (b *budget) most() int {
	switch {
	case b.epoch > 0:
		return b.share()
	case b.lockout.count > 0:
		return 1
	}
	return blindInFlight
}

// mayShow returns how many more requests the window may turn out to allow once the responses to
// those in flight have come. The lowest Remaining may already include some of the requests in
// flight; fits then subtracts these twice. It returns 0 if no response will show that soon.
func (b *budget) mayShow() int {
	if b.pooled {
		return b.potLeft
	}
	if b.processes > 1 || b.isShared() || b.recent.total == 0 {
		return 0
	}
	return min(b.left(), b.limit-b.others.opening-b.own-b.inFlight)
}

// left returns how many requests the window has left according to the responses. Requests in flight
// are not subtracted.
func (b *budget) left() int { return max(0, b.remaining()-len(b.lost)) }

// settle reports the outcome of an admitted request, and returns what it changes for the key.
func (b *budget) settle(s slot, o *Outcome, now time.Time) (e events) {
	b.observe(now)
	if s.era != b.era {
		return e
	}
	b.inFlight--
	b.recent.add(tickOf(lateAfter, s.admitted), -1)
	if s.probe {
		b.probes.inFlight--
		if o.Sent.IsZero() {
			// There will be no response to this probe, so the next one need not wait for it.
			b.probes.at = time.Time{}
		}
	}
	if o.Sent.IsZero() {
		return e
	}
	b.responses++
	switch {
	// The headers of a 401 say nothing about the limit of the key.
	case o.StatusCode == http.StatusUnauthorized:
	case o.Received.IsZero() || o.Window.Limit <= 0:
		b.lose(o)
	default:
		b.learn(s, o)
	}
	b.conclude(s, o, &e)
	b.heard = later(b.heard, o.Received)
	return e
}

// conclude records what the status of a response says about the key.
func (b *budget) conclude(s slot, o *Outcome, e *events) {
	switch {
	case o.Received.IsZero(), o.StatusCode == http.StatusUnauthorized:
		return
	case o.StatusCode == http.StatusTooManyRequests:
		b.lockOut(s, *o)
		e.closed = b.close(b.closedNow(b.now))
		return
	case s.lockouts == b.lockout.count:
		b.lockout.streak = 0
	}
	if b.day && o.Window.Remaining == 0 && o.Window.Limit > 0 && s.responses >= b.resetBy {
		e.closed = b.close(b.lockoutOf(ReasonDay, b.end))
	}
	e.opened = b.opened(s)
}

// lose counts a request without a response, or without a limit in it. What such a request has used
// is not known, so it counts as one request for as long as it may still arrive.
func (b *budget) lose(o *Outcome) {
	b.own++
	b.hours.add(tickOf(longestWindow, b.now), 1)
	// A request that was sent at this very time may have arrived before the lost one.
	until := o.Received.Add(1)
	if o.Received.IsZero() {
		until = b.now.Add(stray)
	}
	// With as many lost requests as the limit, nothing is left: more would change nothing.
	if len(b.lost) < b.limit {
		b.lost = append(b.lost, until)
	}
}

// learn updates the budget from the headers of a response. It first finds the window that the
// response belongs to, which is the known one, a new one or an old one. Then it learns what is left
// of that window, and what others have used of it.
func (b *budget) learn(s slot, o *Outcome) {
	b.offset.narrow(o)
	end, usable := b.endOf(o, o.Received, resetGrain)
	order := b.compare(s, o, usable)
	if order < 0 {
		return
	}
	if order > 0 {
		b.open()
		// If a window ends on a full minute, and had begun more than 2 s before our first response from
		// it, our request did not begin it: then windows are minutes of the wall clock.
		begun := usable && end.Sub(o.Received) < windowLength-2*time.Second
		b.minutes = o.Window.Reset.Unix()%60 == 0 && (b.minutes || begun)
	}
	b.describe(s, o, usable)
	b.push(s.responses, b.responses, o.Window.Remaining, o.Sent)
	// A 429 may be about another window than the one that it shows.
	if o.StatusCode != http.StatusTooManyRequests {
		b.own++
		b.hours.add(tickOf(longestWindow, b.now), 1)
		b.inferOthers(s, o, order > 0)
	}
}

// open begins a new window. Lost requests that may still reach the server stay lost, since the new
// window may count them.
func (b *budget) open() {
	b.low = b.low[:0]
	x := &b.others
	x.unproved, x.past = 0, x.past[:0]
	x.trust = max(x.trust, x.trust/2) // an old foreign request counts for less
	b.window = window{epoch: b.epoch + 1, slides: b.slides}
}

// earliest returns a time before which a request certainly cannot be admitted, with that many
// others before it. It returns now if no known limit stands in its way.
func (b *budget) earliest(now time.Time, before int, background bool) time.Time {
	at := later(now, b.lockout.until)
	if b.epoch == 0 {
		return at
	}
	reserve := b.reserve(background)
	if b.needsProbe(at, reserve) {
		// The response may show a window that is about to end, so one window is not counted.
		return at.Add(time.Duration(max(0, before/b.limit-1)) * windowLength)
	}
	if free := max(b.left()-b.inFlight, b.mayShow()) - reserve; before >= free {
		return later(at, b.end.Add(time.Duration((before-max(0, free))/b.limit)*windowLength))
	}
	return at
}

// scopeAt returns the limit that keeps a request from being admitted before at; empty if none does.
func (b *budget) scopeAt(now, at time.Time) Reason {
	switch {
	case !passed(now, b.lockout.until):
		return b.lockout.scope
	case at.After(now):
		return b.window.scope()
	}
	return ""
}

// known returns what is known about the window; zero if nothing is.
func (b *budget) known() Window {
	if b.epoch == 0 {
		return Window{}
	}
	return Window{Limit: b.limit, Remaining: b.left(), Reset: b.shown}
}

// ends returns when both the window and the lockout are over, as far as known. After that, what the
// budget knows is of little use.
func (b *budget) ends() time.Time { return later(b.lockout.until, b.end) }

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
