// Package quota has the rules of the limiter: how many requests one API key may have in flight,
// according to the responses of the service (section 8). It is a state machine without a lock, a
// queue, a timer or a clock: the caller passes the time to it.
//
// The rule numbers in the comments are those of docs/limiter.md.
package quota

import "time"

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
	// Reserve is the part of each window that background requests leave to others, in percent.
	Reserve int

	now time.Time // latest time seen
	era int       // how often the clock went back

	window
	samples
	offset   offset
	margin   time.Duration // added to Reset, after a window ended later than its Reset
	minutes  bool          // windows are minutes of the wall clock
	distrust bool          // no response has a Date, and Reset did not match the local clock
	others   others
	probes   probes
	recent   recent
	lockout  lockout

	inFlight int
	admitted int       // number of requests admitted
	blind    bool      // there were responses, but none with a limit
	heard    time.Time // when the last response with a limit came
}

// Slot is the state of the Budget when it admitted a request, for Settle and GiveBack.
type Slot struct {
	era, epoch, responses, lockouts, step int

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
	b.recent.add()
	return Slot{
		b.era, b.epoch, b.responses, b.lockout.count, b.recent.step,
		b.left() + b.admitted - b.inFlight, b.heard, probe, probe || b.epoch > 0 && Passed(now, b.end),
	}, Wait{}, true
}

// observe records the time. If the clock went back, as between two synctest bubbles, the Budget
// forgets everything.
func (b *Budget) observe(now time.Time) {
	if now.Before(b.now) {
		*b = Budget{Processes: b.Processes, Reserve: b.Reserve, era: b.era + 1}
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
		n += b.limit * b.Reserve / 100
	}
	return min(n, max(0, b.limit-1))
}

// fits reports whether enough is left for one more request (rules 1 and 6).
func (b *Budget) fits(reserve int) (Wait, bool) {
	most := b.share()
	if b.epoch == 0 {
		most = b.withoutHeaders()
	} else if b.left()-b.inFlight <= reserve {
		if b.mayShow() > reserve {
			return Wait{Reason: ForResponse, Wake: b.recent.wake()}, false
		}
		return Wait{Reason(b.window.scope()), b.end, b.end}, false
	}
	if b.recent.total < most {
		return Wait{}, true
	}
	return Wait{Reason: ForResponse, Wake: b.recent.wake()}, false
}

// mayShow returns how many more requests the window may allow once the responses to those in flight
// have come: the lowest Remaining may count some of these already, and then left counts them twice.
// It returns 0 if nothing can show that soon.
func (b *Budget) mayShow() int {
	if b.Processes > 1 || b.isShared() || b.recent.total == 0 {
		return 0
	}
	return min(b.left(), b.limit-b.others.opening-b.own-b.inFlight)
}

// left returns how many requests the window has left by the responses, including those in flight.
func (b *Budget) left() int { return max(0, b.remaining()-len(b.lost)) }

// Earliest returns a time before which a request cannot be admitted if that many others go before
// it. It returns now if no limit is known to prevent it.
func (b *Budget) Earliest(now time.Time, before int, background bool) time.Time {
	at := now
	if !Passed(now, b.lockout.until) {
		at = b.lockout.until
	}
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

// Idle reports whether the Budget can be dropped: nothing is in flight, and its window and lockout
// are over.
func (b *Budget) Idle(now time.Time) bool {
	return b.inFlight == 0 && Passed(now, b.Ends())
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// A request is late after it has been in flight for a second: five times the longest usual latency.
// The age has steps of 1/8 s, so that 8 counters are enough, however many requests are in flight.
const (
	lateSteps = 8
	stepTime  = time.Second / lateSteps
)

// recent counts the requests in flight that are not late yet (rule 7).
type recent struct {
	born   time.Time // start of step 0
	step   int       // current step
	total  int
	counts [lateSteps]int // ring buffer: requests in flight by the step of their admission
}

// advance removes the requests that have become late.
func (r *recent) advance(now time.Time) {
	if r.born.IsZero() {
		r.born = now
	}
	step := int(now.Sub(r.born) / stepTime)
	if step-r.step >= lateSteps {
		r.total, r.counts = 0, [lateSteps]int{}
	} else {
		for s := r.step + 1; s <= step; s++ {
			r.total -= r.counts[s%lateSteps]
			r.counts[s%lateSteps] = 0
		}
	}
	r.step = max(r.step, step)
}

func (r *recent) add() {
	r.counts[r.step%lateSteps]++
	r.total++
}

// remove removes a request that was admitted in that step.
func (r *recent) remove(step int) {
	if r.step-step < lateSteps {
		r.counts[step%lateSteps]--
		r.total--
	}
}

// wake returns when the oldest request becomes late; zero if there is none.
func (r *recent) wake() time.Time {
	for s := r.step - lateSteps + 1; s <= r.step; s++ {
		if s >= 0 && r.counts[s%lateSteps] > 0 {
			return r.born.Add(time.Duration(s+lateSteps) * stepTime)
		}
	}
	return time.Time{}
}
