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

// samples has the numbers from the responses of a window that are still valid. The order in which
// the service counted the requests is not known. Therefore the lowest Remaining is valid until
// there is a response to a request that was sent after the response with that Remaining came.
type samples struct {
	responses int      // number of outcomes so far, including those without a response
	floor     int      // the outcomes up to this number are no longer valid
	low       []sample // valid samples, increasing in both fields
	lost      []loss   // requests whose effect on Remaining is not known
	counted   []count  // requests of the last minute, while Reset is not usable
	total     int      // number of requests in counted
}

// sample is the Remaining of one response.
type sample struct{ response, remaining int }

// count is the range of time in which the service counted n requests, by a clock that may have a
// grain of a second.
type count struct {
	from, to time.Time
	n        int
}

// count adds a request to counted. Those whose responses came in the same second share an entry, so
// that there are 62 entries at most.
func (r *samples) count(o *Observation) {
	r.total++
	e := count{o.Sent.Add(-resetGrain), o.Received, 1}
	last := len(r.counted) - 1
	if last < 0 || e.to.Unix() > r.counted[last].to.Unix() {
		r.counted = append(r.counted, e)
		return
	}
	c := &r.counted[last]
	if e.from.Before(c.from) {
		c.from = e.from
	}
	c.to, c.n = Later(c.to, e.to), c.n+1
}

// forget removes the first entries of counted.
func (r *samples) forget(entries int) {
	for _, c := range r.counted[:entries] {
		r.total -= c.n
	}
	r.counted = slices.Delete(r.counted, 0, entries)
}

// loss is a request without a response, or without a limit in its response.
type loss struct {
	response int
	at       time.Time // when it was given up; zero if there was a response
}

// stray is how long a request without a response may still be on its way after it was given up. One
// second is far more than a request usually takes to reach the service.
const stray = time.Second

// mayStray reports whether a request sent at sent may have reached the service before l.
func (l loss) mayStray(sent time.Time) bool { return sent.Sub(l.at) < stray }

// remaining returns the lowest valid Remaining.
func (r *samples) remaining() int {
	if len(r.low) == 0 {
		return 0
	}
	return r.low[0].remaining
}

// rose reports whether the Remaining of a response is above the lowest one, although its request
// was sent after that one was known.
func (r *samples) rose(s Slot, o *Observation) bool {
	return len(r.low) > 0 && s.responses >= r.low[0].response && o.RateLimit.Remaining > r.low[0].remaining
}

// push adds a sample. Its request was sent when known responses had come.
func (r *samples) push(known, response, remaining int, sent time.Time) {
	r.floor = max(r.floor, known)
	n := 0
	for n < len(r.low) && r.low[n].response <= r.floor {
		n++
	}
	r.low = slices.Delete(r.low, 0, n)
	r.lost = slices.DeleteFunc(r.lost, func(l loss) bool { return l.response <= known && !l.mayStray(sent) })
	for n = len(r.low); n > 0 && r.low[n-1].remaining >= remaining; n-- {
	}
	r.low = append(r.low[:n], sample{response, remaining})
}

// RateLimit has the X-RateLimit headers of one response (section 8.2); zero if they are not valid.
type RateLimit struct {
	Limit     int       // requests that the window allows
	Remaining int       // requests left in it
	Reset     time.Time // its end by the service's clock, in whole seconds
}

// Observation is the outcome of an admitted request. The zero Observation means that the request
// was not tried. Received without Sent means that it was tried and could not be sent.
type Observation struct {
	Sent       time.Time     // by the local clock; zero if nothing was sent
	Received   time.Time     // arrival of the header, by the local clock; zero without a response
	StatusCode int           // 0 without a response
	RateLimit  RateLimit     // zero without valid headers
	RetryAfter time.Duration // counted from Received; 0 without a valid header
	Date       time.Time     // the service's clock in whole seconds; zero without a valid header
	Abandoned  bool          // the caller gave up before a response came
}
