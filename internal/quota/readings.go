package quota

import (
	"slices"
	"time"
)

// readings are what the responses of a window said about it, as far as it counts: the service's own
// order is not known, so that the lowest Remaining holds until a request that was sent after its
// response came has been responseed too.
type readings struct {
	responses int       // responses so far, lost ones included
	floor     int       // responses up to this one are superseded
	low       []reading // increasing in both fields
	lost      []loss    // requests of which nothing is known
	counted   []count   // requests of the last minute, as long as Reset is of no use
}

type reading struct{ response, remaining int }

// count tells between when and when a request was counted, by a service that may count by the second.
type count struct{ from, to time.Time }

// loss is a request without a response, or with one that told nothing.
type loss struct {
	response int
	at       time.Time // when it was given up, zero if a response shows that it has arrived
}

// stray is how long a request may still be on its way when nobody waits for it any more.
const stray = time.Second

// mayStray reports whether a request sent at sent may have been overtaken by l.
func (l loss) mayStray(sent time.Time) bool { return sent.Sub(l.at) < stray }

// remaining is the lowest that holds.
func (r *readings) remaining() int {
	if len(r.low) == 0 {
		return 0
	}
	return r.low[0].remaining
}

// rose reports whether a request that was sent when the lowest Remaining was known found more.
func (r *readings) rose(s Slot, o *Observation) bool {
	return len(r.low) > 0 && s.responses >= r.low[0].response && o.RateLimit.Remaining > r.low[0].remaining
}

// push adds what a response says, whose request was sent when that many responses were known.
func (r *readings) push(known, response, remaining int, sent time.Time) {
	r.floor = max(r.floor, known)
	n := 0
	for n < len(r.low) && r.low[n].response <= r.floor {
		n++
	}
	r.low = slices.Delete(r.low, 0, n)
	r.lost = slices.DeleteFunc(r.lost, func(l loss) bool { return l.response <= known && !l.mayStray(sent) })
	for n = len(r.low); n > 0 && r.low[n-1].remaining >= remaining; n-- {
	}
	r.low = append(r.low[:n], reading{response, remaining})
}
