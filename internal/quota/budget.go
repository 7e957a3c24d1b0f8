package quota

import (
	"net/http"
	"slices"
	"time"
)

// Budget is what one key may send. Admit asks for one request, and Settle reports its outcome, in any
// order. The zero Budget knows nothing of the key.
//
// Why it stays within the limit (rules 1 and 2): take the answered request of this window that the
// service counted last. What its response left is in low until a response to a request sent later
// replaces it, and every request that it does not include is in flight or lost; those are subtracted.
type Budget struct {
	// Processes is how many processes use the key, this one included, each with a Budget of its own.
	// 0 means that nobody said, so that the Budget infers it (rule 6).
	Processes int
	// Reserve is how many requests of a window background requests leave to the others, in percent.
	Reserve int

	now time.Time // the latest seen
	era int       // so many times the time has gone back

	window
	readings
	offset   offset
	margin   time.Duration // added to Reset, since one proved early
	minutes  bool          // windows are minutes of the clock
	distrust bool          // without a Date, the local clock proved no guide to Reset
	others   others
	ahead    ahead
	young    young
	gate     gate

	inFlight int
	admitted int       // so far
	blind    bool      // responses came, none with a limit
	heard    time.Time // of the last response with a limit
	tight    time.Time // when less than a quarter of the window was left last, or nothing was known
	changes  int       // after which a waiter may have to be refused
}

// Slot is what a Budget has to remember of an admitted request.
type Slot struct {
	era, epoch, responses, closures, step int

	base  int       // left, less what was on its way, if nothing had ever been admitted
	heard time.Time // when that was known

	ahead bool // it goes ahead of the others
	over  bool // the window was over
}

// Wait is why a request cannot go now.
type Wait struct {
	Reason Reason    // what it waits for
	Until  time.Time // when the window ends or the gate opens; zero if a response decides
	Wake   time.Time // when to ask again if no response comes before
}

// Reason is what a request waits for: a Scope if a limit refuses it, or ForResponse.
type Reason string

// ForResponse means that a request is on its way whose response decides.
const ForResponse Reason = "response"

// Admit reserves one request, or returns what it has to wait for. Background requests leave the reserve.
func (b *Budget) Admit(now time.Time, background bool) (Slot, Wait, bool) {
	b.observe(now)
	if !over(now, b.gate.until) {
		return Slot{}, Wait{Reason(b.gate.scope), b.gate.until, b.gate.until}, false
	}
	reserve := b.reserve(background)
	first := b.needsFirst(now, reserve)
	if first {
		if wake, ok := b.mayGoAhead(now); !ok {
			return Slot{}, Wait{Reason: ForResponse, Wake: wake}, false
		}
		b.ahead.inFlight++
		b.ahead.at = now
	} else if w, ok := b.fits(now, reserve); !ok {
		return Slot{}, w, false
	}
	b.inFlight++
	b.admitted++
	b.young.add()
	return Slot{
		b.era, b.epoch, b.responses, b.gate.closures, b.young.step,
		b.left() + b.admitted - b.inFlight, b.heard, first, first || b.epoch > 0 && over(now, b.end),
	}, Wait{}, true
}

// observe notes the time. If it has gone back, the Budget has been carried into another bubble of virtual
// time, and nothing learned before holds there.
func (b *Budget) observe(now time.Time) {
	if now.Before(b.now) {
		*b = Budget{Processes: b.Processes, Reserve: b.Reserve, era: b.era + 1, changes: b.changes + 1}
	}
	b.now = now
	b.young.advance(now)
}

// over reports whether t has come by either clock: the monotonic one stands still while a machine is
// suspended, and the wall clock can be set (rule 10).
func over(now, t time.Time) bool {
	return t.IsZero() || !now.Before(t) || !now.Round(0).Before(t.Round(0))
}

// reserve is how much of the window a request has to leave.
func (b *Budget) reserve(background bool) int {
	n := 0
	switch {
	case b.Processes > 1:
		n = max(b.Processes-1, b.others.theirs) // each of the others may have one on its way
	case b.Processes == 0 && b.crowded():
		n = max(1, b.others.theirs) // for the requests that they have on their way
	}
	if background {
		n += b.limit * b.Reserve / 100
	}
	return min(n, max(0, b.limit-1))
}

// fits reports whether what is left covers one more request (rules 1 and 6).
func (b *Budget) fits(now time.Time, reserve int) (Wait, bool) {
	most := b.share(now)
	if b.epoch == 0 {
		most = b.blindly()
	} else if b.left()-b.inFlight <= reserve {
		return Wait{Reason(b.window.scope()), b.end, b.end}, false
	}
	if b.young.total < most {
		return Wait{}, true
	}
	return Wait{Reason: ForResponse, Wake: b.young.wake()}, false
}

// left is what remains of the window by the responses, whatever is in flight.
func (b *Budget) left() int { return max(0, b.remaining()-len(b.lost)) }

// Earliest is a time before which a request with that many ahead of it cannot go; now, if it is not
// known that it cannot.
func (b *Budget) Earliest(now time.Time, before int, background bool) time.Time {
	at := now
	if !over(now, b.gate.until) {
		at = b.gate.until
	}
	if b.epoch == 0 {
		return at
	}
	reserve := b.reserve(background)
	if b.needsFirst(at, reserve) {
		// The window that a response will show may be about to end.
		return at.Add(time.Duration(max(0, before/b.limit-1)) * windowLength)
	}
	if free := b.left() - b.inFlight - reserve; before >= free {
		return later(at, b.end.Add(time.Duration((before-max(0, free))/b.limit)*windowLength))
	}
	return at
}

// Scope is what keeps a request from going before at, zero if nothing that is known.
func (b *Budget) Scope(now, at time.Time) Scope {
	switch {
	case !over(now, b.gate.until):
		return b.gate.scope
	case at.After(now):
		return b.window.scope()
	}
	return ""
}

// RateLimit is what is known of the window, zero if nothing is.
func (b *Budget) RateLimit() RateLimit {
	if b.epoch == 0 {
		return RateLimit{}
	}
	return RateLimit{Limit: b.limit, Remaining: b.left(), Reset: b.shown}
}

// Changes counts what may keep a waiter from being served in time: a window that is used up, a gate that
// closes.
func (b *Budget) Changes() int { return b.changes }

// Now is the latest time that the Budget has seen.
func (b *Budget) Now() time.Time { return b.now }

// InFlight is the number of requests that were admitted and not settled.
func (b *Budget) InFlight() int { return b.inFlight }

// Idle reports whether forgetting the Budget loses nothing: nothing is in flight, and what it knew is over.
func (b *Budget) Idle(now time.Time) bool {
	return b.inFlight == 0 && over(now, b.gate.until) && over(now, b.end)
}

// Reopen has one request ask the service again, whatever kept requests back (rule 9).
func (b *Budget) Reopen() {
	b.gate.reopen()
	b.changes++
}

// GiveBack ends a reservation of which nothing was sent.
func (b *Budget) GiveBack(s Slot) {
	if s.era != b.era {
		return
	}
	b.inFlight--
	b.young.remove(s.step)
	if s.ahead {
		b.ahead.inFlight--
	}
}

// Settle reports the outcome of an admitted request.
func (b *Budget) Settle(s Slot, o *Observation, now time.Time) {
	b.observe(now)
	if s.era != b.era {
		return
	}
	b.GiveBack(s)
	if s.ahead {
		b.ahead.settle(o, now)
	}
	if o.Sent.IsZero() {
		return
	}
	b.responses++
	if o.Received.IsZero() || o.RateLimit.Limit <= 0 {
		b.miss(o)
	} else {
		b.learn(s, o)
	}
	switch {
	case o.Received.IsZero():
	case o.StatusCode == http.StatusTooManyRequests:
		b.reject(s, *o)
	case s.closures == b.gate.closures:
		b.gate.rejected, b.gate.streak = false, 0
	}
	b.blind = b.blind || !o.Received.IsZero()
}

// miss counts a request of which nobody knows what it left of the window.
func (b *Budget) miss(o *Observation) {
	b.own++
	l := loss{response: b.responses}
	if o.Received.IsZero() {
		l.at = b.now
	}
	if len(b.lost) < b.limit { // more would change nothing
		b.lost = append(b.lost, l)
	}
}

// learn takes over what the headers of a response say.
func (b *Budget) learn(s Slot, o *Observation) {
	b.offset.narrow(o)
	if o.Received.Sub(b.heard) > windowLength {
		b.tight = o.Received
	}
	b.heard = later(b.heard, o.Received)
	_, usable := b.endOf(o, o.Received)
	order := b.compare(s, o, usable)
	switch order {
	case windowPast:
		return
	case windowNext:
		b.open(o)
	}
	b.describe(s, o, usable)
	if o.StatusCode != http.StatusTooManyRequests {
		b.own++
	}
	b.push(s.responses, b.responses, o.RateLimit.Remaining, o.Sent)
	b.watch(s, o, order == windowNext)
	if b.left() < b.limit/4 {
		b.tight = o.Received
	}
	if b.left() <= b.reserve(false) && !b.exhausted {
		b.exhausted = true
		b.changes++
	}
}

// open begins a window of which nothing is known but this response.
func (b *Budget) open(o *Observation) {
	b.lost = slices.DeleteFunc(b.lost, func(l loss) bool { return !l.mayStray(o.Sent) })
	b.low, b.floor = b.low[:0], 0
	b.others = others{wasShared: b.others.shared, theirs: b.others.theirs}
	b.minutes = b.isMinute(o)
	b.window = window{epoch: b.epoch + 1, slides: b.slides}
	b.changes++
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
