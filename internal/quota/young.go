package quota

import "time"

// A request in flight is late after a second: its response says no more about how fast the others on the
// key are. Ages are kept by eighths of a second, which is enough for that.
const (
	lateSteps = 8
	stepTime  = time.Second / lateSteps
)

// young counts the requests in flight that are not late yet (rule 7).
type young struct {
	born   time.Time // of step 0
	step   int       // the current one
	total  int
	counts [lateSteps]int // by step, in a ring
}

// advance forgets those that have become late.
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

// remove ends a request that was admitted at a step.
func (y *young) remove(step int) {
	if y.step-step < lateSteps {
		y.counts[step%lateSteps]--
		y.total--
	}
}

// wake is when the oldest will be late, zero if there is none.
func (y *young) wake() time.Time {
	for s := y.step - lateSteps + 1; s <= y.step; s++ {
		if s >= 0 && y.counts[s%lateSteps] > 0 {
			return y.born.Add(time.Duration(s+lateSteps) * stepTime)
		}
	}
	return time.Time{}
}
