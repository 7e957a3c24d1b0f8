package sim

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// cell is one situation that a run simulates.
type cell struct {
	condition
	window     fake.Window
	perMinute  int
	seed       uint64
	work       func(*run) // makes the calls
	items      int        // of a job or a burst
	goroutines int        // of all but a load
	percent    int        // of the plan that a load asks for
	programs   int        // that do so, each with a limiter of its own
}

// grid returns a cell of a condition for each window and plan. Its job takes four windows and a half
// of the larger plan.
func grid(k condition, seed uint64, work func(*run)) []cell {
	var cells []cell
	for _, window := range []fake.Window{"", fake.WindowAligned, fake.WindowSliding} {
		for _, perMinute := range []int{60, 300, 1_000} {
			c := cell{condition: k, window: window, perMinute: perMinute, seed: seed, work: work}
			c.items = perMinute * 9 / 2
			if k.planChange > 0 {
				c.items = max(perMinute, c.laterPlan()) * 9 / 2
			}
			cells = append(cells, c)
		}
	}
	return cells
}

const (
	minLatency = 20 * time.Millisecond
	maxLatency = 200 * time.Millisecond
)

// String names the cell, for -run and for the lists of this package.
func (c cell) String() string {
	name := fmt.Sprintf("%s_%s_%d", c.name, cmp.Or(c.window, "fixed"), c.perMinute)
	if c.programs > 0 {
		return fmt.Sprintf("%s_%d%%_%d", name, c.percent, c.programs)
	}
	return fmt.Sprintf("%s_%d", name, c.goroutines)
}

// perDay is the limit of the day, 0 for none.
func (c cell) perDay() int { return int(c.dayWindows * float64(c.perMinute)) }

// laterPlan is the requests per minute from condition.planChange on: 60 and 1,000 become more, 300
// become fewer.
func (c cell) laterPlan() int { return map[int]int{60: 300, 300: 60, 1_000: 2_000}[c.perMinute] }

// chance returns the random numbers for one thing that has to be decided.
func (c cell) chance(i int) *rand.Rand {
	return rand.New(rand.NewPCG(c.seed, uint64(i))) // any bits will do
}

// phase is how far into a minute the run begins: within the first 20 seconds, so that even one
// goroutine can use up what is left of an aligned window.
func (c cell) phase() time.Duration {
	return time.Duration(c.chance(math.MinInt).Int64N(int64(20 * time.Second)))
}

// leg is the way of one request to the service and back.
type leg struct {
	out, back time.Duration
	lost      bool // counted by the service, and the connection is reset before the response
	undialled bool // there is no connection, and the service never sees it
}

func (l leg) total() time.Duration { return l.out + l.back }

// leg returns what happens to the i-th request that is sent in this cell, counted from 0. Before
// and after the service counts it time passes, so that requests and responses overtake each other.
func (c cell) leg(i int) leg {
	if c.took > 0 {
		return leg{out: c.took / 2, back: c.took / 2}
	}
	r := c.chance(i)
	total := minLatency + time.Duration(r.Int64N(int64(maxLatency-minLatency)))
	l := leg{out: time.Duration(float64(total) * (0.1 + 0.8*r.Float64()))}
	l.back = total - l.out
	p := r.Float64()
	if p < c.slow {
		l.back += cmp.Or(c.slowBy, 10*time.Second)
	}
	l.lost, l.undialled = p < c.lost, p < c.undialled
	return l
}

// impatience returns after how long the caller of the i-th call gives up, 0 for never.
func (c cell) impatience(i int) time.Duration {
	r := c.chance(-1 - i)
	if r.Float64() >= c.cancels {
		return 0
	}
	if c.programs > 0 || r.IntN(2) == 0 {
		return time.Duration(1 + r.Int64N(int64(maxLatency)))
	}
	return time.Duration(1 + r.Int64N(int64(90*time.Second)))
}
