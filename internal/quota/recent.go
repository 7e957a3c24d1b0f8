package quota

import "time"

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
