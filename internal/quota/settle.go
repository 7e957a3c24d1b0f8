package quota

import (
	"net/http"
	"slices"
	"time"
)

// GiveBack ends the reservation of a request that was not tried. The Budget then behaves as if it
// had not admitted the request.
func (b *Budget) GiveBack(s Slot) {
	if s.era != b.era {
		return
	}
	b.free(s, &Observation{})
	b.admitted--
	if s.probe {
		b.probes.at = time.Time{} // the next one need not wait for a response to this one
	}
}

// free ends the reservation of a request with that outcome.
func (b *Budget) free(s Slot, o *Observation) {
	b.inFlight--
	b.others.census.settle(s, o)
	b.recent.remove(s.step)
	if s.probe {
		b.probes.inFlight--
	}
}

// Settle reports the outcome of an admitted request.
func (b *Budget) Settle(s Slot, o *Observation, now time.Time) {
	b.observe(now)
	switch {
	case o.Sent.IsZero() && o.Received.IsZero():
		b.GiveBack(s)
		return
	case s.era != b.era:
		return
	}
	b.free(s, o)
	if s.probe {
		b.probes.settle(o, now)
	}
	if o.Sent.IsZero() {
		b.admitted--
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
	b.blind = b.blind || !o.Received.IsZero()
}

// lose counts a request without a response, or without a limit in it.
func (b *Budget) lose(o *Observation) {
	b.own++
	l := loss{response: b.responses}
	if o.Received.IsZero() {
		l.at = b.now
	}
	if len(b.lost) < b.limit { // with limit lost requests, nothing is left
		b.lost = append(b.lost, l)
	}
}

// learn updates the Budget from the headers of a response.
func (b *Budget) learn(s Slot, o *Observation) {
	b.offset.narrow(o)
	b.heard = Later(b.heard, o.Received)
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
	b.lost = slices.DeleteFunc(b.lost, func(l loss) bool { return !l.mayStray(o.Sent) })
	b.low, b.floor = b.low[:0], 0
	x := &b.others
	x.census, x.past = census{}, history{x.past.points[:0]}
	x.trust = max(x.trust, x.trust/2) // shared ages
	b.minutes = b.isMinute(o)
	b.window = window{epoch: b.epoch + 1, slides: b.slides, other: b.day}
}
