package quota

import "time"

// A request is late after it has been in flight for a second: five times the longest usual latency.
// The age has steps of 1/8 s, so that 8 counters are enough, however many requests are in flight.
const (
	lateSteps = 8
	stepTime  = time.Second / lateSteps
)

// young counts the requests in flight that are not late yet (rule 7).
type young struct {
	born   time.Time // start of step 0
	step   int       // current step
	total  int
	counts [lateSteps]int // ring buffer: requests in flight by the step of their admission
}

// advance removes the requests that have become late.
func (y *young) advance(now time.Time) {
	if y.born.IsZero() {
		y.born = now
	}
	step := int(now.Sub(y.born) / stepTime)
	if step-y.step >= lateSteps {
		y.total, y.counts = 0, [lateSteps]int{}
	} else {
		for s := y.step + 1; s <= step; s++ {
			y.total -= y.counts[s%lateSteps]
			y.counts[s%lateSteps] = 0
		}
	}
	y.step = max(y.step, step)
}

func (y *young) add() {
	y.counts[y.step%lateSteps]++
	y.total++
}

// remove removes a request that was admitted in that step.
func (y *young) remove(step int) {
	if y.step-step < lateSteps {
		y.counts[step%lateSteps]--
		y.total--
	}
}

// wake returns when the oldest request becomes late; zero if there is none.
func (y *young) wake() time.Time {
	for s := y.step - lateSteps + 1; s <= y.step; s++ {
		if s >= 0 && y.counts[s%lateSteps] > 0 {
			return y.born.Add(time.Duration(s+lateSteps) * stepTime)
		}
	}
	return time.Time{}
}
