package ratelimit

import (
	"slices"
	"time"
)

// samples has the numbers from the responses of a window that are still valid. The order in which
// the server counted the requests is not known. Therefore the lowest Remaining is valid until
// there is a response to a request that was sent after the response with that Remaining came.
type samples struct {
	responses int      // number of outcomes so far, including those without a response
	low       []sample // valid samples, increasing in both fields
	// lost has the requests whose effect on Remaining is not known: until when they may reach the
	// server.
	lost []time.Time
	// counted has the time of the last response in each second of the last minute, while Reset is
	// not usable.
	counted []time.Time
}

// sample is the Remaining of one response.
type sample struct{ response, remaining int }

// count adds a request to counted.
func (r *samples) count(received time.Time) {
	if last := len(r.counted) - 1; last >= 0 && received.Unix() <= r.counted[last].Unix() {
		r.counted[last] = later(r.counted[last], received)
		return
	}
	r.counted = append(r.counted, received)
}

// stray is how long a request without a response may still be on its way after it was given up. One
// second is far more than a request usually takes to reach the server.
const stray = time.Second

// remaining returns the lowest valid Remaining.
func (r *samples) remaining() int {
	if len(r.low) == 0 {
		return 0
	}
	return r.low[0].remaining
}

// push adds a sample. Its request was sent at that time, when known responses had come.
func (r *samples) push(known, response, remaining int, sent time.Time) {
	r.forgetLost(sent)
	r.low = slices.DeleteFunc(r.low, func(s sample) bool { return s.response <= known || s.remaining >= remaining })
	r.low = append(r.low, sample{response, remaining})
}

// forgetLost drops the lost requests that had reached the server, or never will, when a request
// was sent.
func (r *samples) forgetLost(sent time.Time) {
	r.lost = slices.DeleteFunc(r.lost, func(until time.Time) bool { return !sent.Before(until) })
}
