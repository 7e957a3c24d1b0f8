package quota

import (
	"slices"
	"time"
)

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
