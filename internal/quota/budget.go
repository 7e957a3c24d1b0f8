// Package quota has the rules of the limiter: how many requests one API key may have in flight,
// according to the responses of the service (section 8). It is a state machine without a lock, a
// queue, a timer or a clock: the caller passes the time to it.
//
// The rule numbers in the comments are those of docs/limiter.md.
package quota

import (
	"net/http"
	"time"
)

// Budget decides what one key may send. Admit asks for one request, and Settle reports its outcome,
// in any order. The zero Budget knows nothing about the key.
//
// Why the key stays within its limit (rules 1 and 2): consider the request of this window that has
// a response and that the service counted last. The Remaining of its response is in low until it is
// replaced by the response to a request that was sent later. All requests that this number does not
// include are in flight or lost; Admit subtracts those.
type Budget struct {
	// Processes is the number of processes that use the key, including this one, each with its own
	// Budget. 0 means that the number is not known, so that the Budget infers it (rule 6).
	Processes int

	now time.Time // latest time seen
	era int       // how often the clock went back

	window
	samples
	offset  offset
	margin  time.Duration // added to Reset, after a window ended later than its Reset
	minutes bool          // windows are minutes of the wall clock
	others  others
	probes  probes
	recent  recent
	lockout lockout

	inFlight int
	admitted int       // number of requests admitted
	heard    time.Time // when the last response came
}

// blindInFlight is how many requests may be in flight while no response has had a limit, until the
// first 429; afterwards one.
const blindInFlight = 2

// backgroundPart: background requests leave 1/10 of each window to calls that should not wait.
const backgroundPart = 10

// Slot is the state of the Budget when it admitted a request, for Settle.
type Slot struct {
	era, epoch, responses, lockouts int

	admitted time.Time

	base  int       // what was left, plus all requests admitted so far, minus those in flight
	heard time.Time // Budget.heard

	probe bool // the others wait for its response
	over  bool // the window was over
}

// Wait is the reason why a request cannot be admitted now.
type Wait struct {
	Reason Reason    // what the request waits for
	Until  time.Time // end of the window or of the lockout; zero if a response decides
	Wake   time.Time // when to ask again if there is no response before
}

// Reason is what a request waits for: a Scope if a limit refuses it, or ForResponse.
type Reason string

// ForResponse means that the response of a request in flight decides.
const ForResponse Reason = "response"

// Admit reserves one request, or returns what it has to wait for. Background requests must leave
// the reserve.
func (b *Budget) Admit(now time.Time, background bool) (Slot, Wait, bool) {
	b.observe(now)
	if !Passed(now, b.lockout.until) {
		return Slot{}, Wait{Reason(b.lockout.scope), b.lockout.until, b.lockout.until}, false
	}
	reserve := b.reserve(background)
	probe := b.needsProbe(now, reserve)
	if probe {
		if wake, ok := b.mayProbe(now); !ok {
			return Slot{}, Wait{Reason: ForResponse, Wake: wake}, false
		}
		b.probes.inFlight++
		b.probes.at = now
	} else if w, ok := b.fits(reserve); !ok {
		return Slot{}, w, false
	}
	b.inFlight++
	b.admitted++
	b.recent = append(b.recent, now)
	return Slot{
		b.era, b.epoch, b.responses, b.lockout.count, now,
		b.left() + b.admitted - b.inFlight, b.heard, probe, probe || Passed(now, b.end),
	}, Wait{}, true
}

// observe records the time. If the clock went back, as between two synctest bubbles, the Budget
// forgets everything.
func (b *Budget) observe(now time.Time) {
	if now.Before(b.now) {
		*b = Budget{Processes: b.Processes, era: b.era + 1}
	}
	b.now = now
	b.recent.advance(now)
}

// Passed reports whether t is zero or has passed.
func Passed(now, t time.Time) bool { return !now.Before(t) }

// reserve returns how many requests of the window must be left after this one.
func (b *Budget) reserve(background bool) int {
	n := b.leftToOthers()
	if background {
		n += b.limit / backgroundPart
	}
	return n
}

// fits reports whether enough is left for one more request (rules 1, 6 and 8).
func (b *Budget) fits(reserve int) (Wait, bool) {
	most := b.share()
	if b.epoch == 0 {
		most = blindInFlight
		if b.lockout.count > 0 {
			most = 1
		}
	} else if b.left()-b.inFlight <= reserve {
		if b.mayShow() > reserve {
			return Wait{Reason: ForResponse, Wake: b.recent.wake()}, false
		}
		return Wait{Reason(b.window.scope()), b.end, b.end}, false
	}
	if len(b.recent) < most {
		return Wait{}, true
	}
	return Wait{Reason: ForResponse, Wake: b.recent.wake()}, false
}

// mayShow returns how many more requests the window may allow once the responses to those in flight
// have come: the lowest Remaining may count some of these already, and then left counts them twice.
// It returns 0 if nothing can show that soon.
func (b *Budget) mayShow() int {
	if b.Processes > 1 || b.isShared() || len(b.recent) == 0 {
		return 0
	}
	return min(b.left(), b.limit-b.others.opening-b.own-b.inFlight)
}

// left returns how many requests the window has left by the responses, including those in flight.
func (b *Budget) left() int { return max(0, b.remaining()-len(b.lost)) }

// Settle reports the outcome of an admitted request.
func (b *Budget) Settle(s Slot, o *Observation, now time.Time) {
	b.observe(now)
	if s.era != b.era {
		return
	}
	b.inFlight--
	b.recent.remove(s.admitted)
	b.others.census.settle(s, o)
	if s.probe {
		b.probes.settle(o, now)
	}
	if o.Sent.IsZero() {
		return
	}
	b.responses++
	if o.Received.IsZero() || o.RateLimit.Limit <= 0 {
		b.lose(o)
	} else {
		b.learn(s, o)
	}
	switch {
	case o.Received.IsZero():
	case o.StatusCode == http.StatusTooManyRequests:
		b.reject(s, *o)
	case s.lockouts == b.lockout.count:
		b.lockout.rejected, b.lockout.streak = false, 0
	}
	b.heard = Later(b.heard, o.Received)
}

// lose counts a request without a response, or without a limit in it.
func (b *Budget) lose(o *Observation) {
	b.own++
	until := o.Received.Add(1) // a request that was sent at the same time may have come before
	if o.Received.IsZero() {
		until = b.now.Add(stray)
	}
	if len(b.lost) < b.limit { // with limit lost requests, nothing is left
		b.lost = append(b.lost, until)
	}
}

// learn updates the Budget from the headers of a response.
func (b *Budget) learn(s Slot, o *Observation) {
	b.offset.narrow(o)
	_, usable := b.endOf(o, o.Received)
	order := b.compare(s, o, usable)
	switch order {
	case windowPast:
		return
	case windowNext:
		b.open(o)
	}
	b.describe(s, o, usable)
	b.push(s.responses, b.responses, o.RateLimit.Remaining, o.Sent)
	if o.StatusCode != http.StatusTooManyRequests { // a 429 may be of another window than it shows
		b.own++
		b.inferOthers(s, o, order == windowNext)
	}
}

// open begins a new window with its first response.
func (b *Budget) open(o *Observation) {
	b.forgetLost(o.Sent)
	b.low = b.low[:0]
	x := &b.others
	x.census, x.past = census{}, x.past[:0]
	x.trust = max(x.trust, x.trust/2) // shared ages
	b.minutes = b.isMinute(o)
	b.window = window{epoch: b.epoch + 1, slides: b.slides, other: b.day}
}

// Earliest returns a time before which a request cannot be admitted if that many others go before
// it. It returns now if no limit is known to prevent it.
func (b *Budget) Earliest(now time.Time, before int, background bool) time.Time {
	at := Later(now, b.lockout.until)
	if b.epoch == 0 {
		return at
	}
	reserve := b.reserve(background)
	if b.needsProbe(at, reserve) {
		// The response may show a window that is about to end: it does not delay the request.
		return at.Add(time.Duration(max(0, before/b.limit-1)) * windowLength)
	}
	if free := max(b.left()-b.inFlight, b.mayShow()) - reserve; before >= free {
		return Later(at, b.end.Add(time.Duration((before-max(0, free))/b.limit)*windowLength))
	}
	return at
}

// Scope returns the limit because of which a request cannot be admitted before at; empty if there
// is none.
func (b *Budget) Scope(now, at time.Time) Scope {
	switch {
	case !Passed(now, b.lockout.until):
		return b.lockout.scope
	case at.After(now):
		return b.window.scope()
	}
	return ""
}

// RateLimit returns what is known about the window; zero if nothing is.
func (b *Budget) RateLimit() RateLimit {
	if b.epoch == 0 {
		return RateLimit{}
	}
	return RateLimit{Limit: b.limit, Remaining: b.left(), Reset: b.shown}
}

// Ends returns when both the window and the lockout are over, as far as known.
func (b *Budget) Ends() time.Time { return Later(b.lockout.until, b.end) }

// InFlight returns the number of requests that were admitted and are not settled yet.
func (b *Budget) InFlight() int { return b.inFlight }

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// RateLimit has the X-RateLimit headers of one response (section 8.2); zero if they are not valid.
type RateLimit struct {
	Limit     int       // requests that the window allows
	Remaining int       // requests left in it
	Reset     time.Time // its end by the service's clock, in whole seconds
}

// Observation is the outcome of an admitted request. The zero Observation means that it was not
// sent: the Budget then behaves as if it had not admitted the request.
type Observation struct {
	Sent       time.Time     // by the local clock; zero if nothing was sent
	Received   time.Time     // arrival of the header, by the local clock; zero without a response
	StatusCode int           // 0 without a response
	RateLimit  RateLimit     // zero without valid headers
	RetryAfter time.Duration // counted from Received; 0 without a valid header
	Date       time.Time     // the service's clock in whole seconds; zero without a valid header
	Abandoned  bool          // the caller gave up before a response came
}
