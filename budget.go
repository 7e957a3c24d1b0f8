package petstore

import (
	"net/http"
	"slices"
	"time"
)

const (
	// probePatience is how long the only request on its way may be silent before a second follows.
	probePatience = time.Second
	// roomlessPatience is the same when the second may be rejected, and after a 429 earn a ban.
	roomlessPatience = 10 * time.Second
	// blindInFlight is how many requests may be on their way as long as no answer told of a limit.
	blindInFlight = 2
	// quiet is after how long what was known of the window is looked at again before the door
	// opens, as somebody else may have used it.
	quiet = 5 * time.Second
)

// budget is what one key may send: the rules of the limiter without lock, line, timer or clock of
// its own. admit asks for a request, settle tells what became of it, in any order.
//
// Why it stays within the limit: take the answered request of this window that the service
// processed last. What that answer left is counted in remaining until an answer to a request sent
// later replaces it, and every request that it does not include is in flight or lost; those are
// taken off. When the window is over, one request goes ahead and shows the next one.
type budget struct {
	now time.Time // the latest seen; earlier ones mean another world
	era int       // worlds so far

	window
	readings
	offset   offset
	margin   time.Duration // added to Reset, since one proved early
	minutes  bool          // windows are minutes of the clock
	distrust bool          // without a Date, the local clock proved no guide to Reset
	inFlight int
	blind    bool // answers came, none with a limit
	trickle  bool // and short closures in a row

	gate     time.Time  // nothing is sent before
	closure  LimitScope // what closed the gate
	rejected bool       // a 429 came, and no success after it
	streak   int        // closures in a row
	closures int        // closures so far

	probes    int // in flight
	probeAt   time.Time
	probeFrom time.Time // earliest time of the next
	unsent    int       // probes in a row that never left
	silent    int       // probes in a row that got no answer

	own       int       // of our requests, those that this window counted
	opening   int       // those of others when it opened
	look      int       // so many of them go one after the other
	pause     time.Time // the second goes not before
	heard     time.Time // of the last answer
	shared    bool      // somebody else used this window
	wasShared bool      // somebody else used the one before

	changes int // changes after which somebody in the line may have to be refused
}

// slot is what a budget has to remember of an admitted request.
type slot struct {
	era, epoch, answers, closures int

	probe bool // it goes ahead of the others
	late  bool // the window was over
}

// wait tells why a request cannot go now.
type wait struct {
	reason  string    // "window", "day", "ban", "probe", "in flight"
	until   time.Time // when it can, zero if only an answer can tell
	waiters int       // how many wait, this one included
	wake    time.Time // when to ask again if no answer comes before, zero: an answer will come
}

// admit reserves one request, or tells what it has to wait for.
func (b *budget) admit(now time.Time) (slot, wait, bool) {
	b.observe(now)
	if now.Before(b.gate) {
		return slot{}, wait{reason: string(b.closure), until: b.gate, wake: b.gate}, false
	}
	probe := b.unsure(now)
	if probe {
		if ok, wake := b.mayProbe(now); !ok {
			return slot{}, wait{reason: "response", wake: wake}, false
		}
		b.probes++
		b.probeAt = now
	} else if w, ok := b.fits(now); !ok {
		return slot{}, w, false
	}
	b.inFlight++
	late := probe || !now.Before(b.end)
	return slot{b.era, b.epoch, b.answers, b.closures, probe, late}, wait{}, true
}

// observe notes the time. If it has gone back, the limiter has been carried into another world, as a
// test in virtual time is one, and nothing learned before holds there.
func (b *budget) observe(now time.Time) {
	if now.Before(b.now) {
		*b = budget{era: b.era + 1, changes: b.changes + 1}
	}
	b.now = now
}

// unsure reports whether nothing known covers a request at now, so that one has to go ahead. What is
// left of a window that is over covers one as well: the next window has at least as much room.
func (b *budget) unsure(now time.Time) bool {
	switch {
	case b.rejected:
		return true
	case b.epoch == 0:
		return !b.blind
	}
	return !now.Before(b.end) && (b.left() <= b.inFlight || b.crowded())
}

// crowded reports whether others have used the key of late.
func (b *budget) crowded() bool { return b.shared || b.wasShared }

// mayProbe reports whether a request may go ahead of the others now, and if not, when to ask again.
//
// One goes, and a second if its answer is long in coming: soon, if there is room for it without
// doubt, late if it may be one too many.
func (b *budget) mayProbe(now time.Time) (bool, time.Time) {
	roomy := !b.rejected && (b.epoch == 0 || b.left() > b.inFlight)
	patience := roomlessPatience
	if roomy {
		patience = probePatience
	}
	switch {
	case now.Before(b.probeFrom):
		return false, b.probeFrom
	case b.probes == 0:
		return true, time.Time{}
	case roomy && b.probes < 1<<min(b.unsent, 2):
		return true, time.Time{} // the service cannot be reached: a few may find out at a time
	case b.probes == 1:
		return !now.Before(b.probeAt.Add(patience)), b.probeAt.Add(patience)
	}
	return false, time.Time{}
}

// fits reports whether what is left covers one more request.
func (b *budget) fits(now time.Time) (wait, bool) {
	if b.epoch == 0 {
		if b.trickle {
			return wait{reason: "in flight"}, b.inFlight == 0
		}
		return wait{reason: "in flight"}, b.inFlight < blindInFlight
	}
	if b.inFlight == 0 && now.Sub(b.heard) > quiet {
		b.look = b.own + 1
	}
	left := b.left()
	reserve, most := 0, left
	switch {
	case b.crowded():
		// What others have on their way shows only when it is answered: leave room for it, and
		// the last request to whoever has it on its way.
		reserve, most = 1, max(1, left/16)
	case b.slides:
		// Whose the requests are that a sliding window counts, its answers do not tell.
		most = max(4, left/4)
	}
	if b.own < b.look {
		most = 1
	}
	switch {
	case left-b.inFlight > reserve && b.inFlight < most:
		return wait{reason: "response", wake: b.pause}, !now.Before(b.pause)
	case b.inFlight > 0 && !now.Before(b.end):
		return wait{reason: "in flight"}, false
	case b.inFlight > 0 && left > reserve:
		return wait{reason: "in flight", wake: b.end}, false
	}
	return wait{reason: string(b.window.closure()), until: b.end, wake: b.end}, false
}

// left is what remains of the window by the answers, whatever is in flight.
func (b *budget) left() int { return max(0, b.remaining()-len(b.lost)) }

// earliest is a time before which a request with that many ahead of it cannot go; now, if it is not
// known that it cannot.
func (b *budget) earliest(now time.Time, ahead int) time.Time {
	at := now
	if b.gate.After(at) {
		at = b.gate
	}
	if b.epoch == 0 {
		return at
	}
	if b.unsure(at) {
		// The window that a probe will show may be about to end.
		return at.Add(time.Duration(max(0, ahead/b.limit-1)) * windowLength)
	}
	if left := b.left(); ahead >= left {
		return b.end.Add(time.Duration((ahead-left)/b.limit) * windowLength)
	}
	return at
}

// rateLimit is what is known of the window, zero if nothing is.
func (b *budget) rateLimit() RateLimit {
	if b.epoch == 0 {
		return RateLimit{}
	}
	return RateLimit{Limit: b.limit, Remaining: b.left(), Reset: b.shown}
}

// giveBack ends a reservation.
func (b *budget) giveBack(s slot) {
	if s.era != b.era {
		return
	}
	b.inFlight--
	if s.probe {
		b.probes--
	}
}

// settle tells what became of an admitted request.
func (b *budget) settle(s slot, o Observation, now time.Time) {
	b.observe(now)
	if s.era != b.era {
		return
	}
	b.giveBack(s)
	if s.probe {
		b.probed(o, now)
	}
	if o.Sent.IsZero() {
		return
	}
	b.answers++
	if o.Received.IsZero() || o.RateLimit.Limit <= 0 {
		b.miss(o)
	} else {
		b.learn(s, &o)
	}
	switch {
	case o.Received.IsZero():
	case o.StatusCode == http.StatusTooManyRequests:
		b.reject(s, o)
	case s.closures == b.closures:
		b.rejected, b.streak = false, 0
	}
	b.blind = b.blind || !o.Received.IsZero()
}

// probed ends a probe. One that got no answer is not repeated at once: the service is in trouble.
func (b *budget) probed(o Observation, now time.Time) {
	switch {
	case o.Sent.IsZero():
		b.unsent++
	case o.Received.IsZero():
		b.probeFrom = now.Add(min(100*time.Millisecond<<min(b.silent, 10), 15*time.Second))
		b.silent++
	default:
		b.unsent, b.silent, b.probeFrom = 0, 0, time.Time{}
	}
}

// miss counts a request of which no one knows what it left of the window.
func (b *budget) miss(o Observation) {
	b.own++
	l := loss{answer: b.answers}
	if o.Received.IsZero() {
		l.at = b.now
	}
	if len(b.lost) < b.limit { // more would change nothing
		b.lost = append(b.lost, l)
	}
}

// learn takes over what the headers of an answer say.
func (b *budget) learn(s slot, o *Observation) {
	b.offset.narrow(o)
	b.heard = later(b.heard, o.Received)
	_, usable := b.endOf(o, o.Received)
	switch b.compare(s, o, usable) {
	case windowPast:
		return
	case windowNext:
		b.open(o)
	}
	b.describe(s, o, usable)
	if o.StatusCode != http.StatusTooManyRequests {
		b.own++
	}
	b.push(s.answers, b.answers, o.RateLimit.Remaining, o.Sent)
	if b.limit-o.RateLimit.Remaining-b.opening > b.own+b.inFlight {
		b.shared = true
	}
	if b.left() == 0 && !b.exhausted {
		b.exhausted = true
		b.changes++
	}
}

// open begins a window of which nothing is known but this answer.
func (b *budget) open(o *Observation) {
	b.lost = slices.DeleteFunc(b.lost, func(l loss) bool { return !l.mayStray(o.Sent) })
	b.low, b.floor = b.low[:0], 0
	b.opening = o.RateLimit.Limit - o.RateLimit.Remaining
	if o.StatusCode != http.StatusTooManyRequests {
		b.opening--
	}
	b.own, b.look, b.wasShared, b.shared = 0, 0, b.shared, false
	others := b.opening > b.inFlight
	if others || b.epoch == 0 {
		b.look = 2 + b.inFlight
	}
	if others && !b.slides {
		// Somebody else may have the whole rest of the window on its way.
		b.pause = o.Received.Add(probePatience)
	}
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
