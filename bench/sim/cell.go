package sim

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// cell is one situation in which every contender makes the same calls: those of a job that
// goroutines share, or those of a load.
type cell struct {
	condition  condition
	window     fake.Window
	perMinute  int
	goroutines int // of the job
	load       load
	burst      burst
	fleet      fleet
	seed       uint64
}

const (
	minLatency = 20 * time.Millisecond
	maxLatency = 200 * time.Millisecond
)

// String names the cell, for -run and for the lists of this package.
func (c cell) String() string {
	name := fmt.Sprintf("%s_%s_%d", c.condition.name, windowName(c.window), c.perMinute)
	if c.load.percent > 0 {
		return fmt.Sprintf("%s_%d%%_%d", name, c.load.percent, c.load.programs)
	}
	return fmt.Sprintf("%s_%d", name, c.goroutines)
}

func windowName(w fake.Window) string {
	return map[fake.Window]string{
		fake.WindowFixed: "fixed", fake.WindowAligned: "aligned", fake.WindowSliding: "sliding",
	}[w]
}

// items is how many requests the job asks for: four windows and a half of the larger plan.
func (c cell) items() int {
	if c.burst.calls > 0 {
		return c.burst.calls
	}
	if c.condition.planChange > 0 {
		return max(c.perMinute, c.laterPlan()) * 9 / 2
	}
	return c.perMinute * 9 / 2
}

// plan is that of the key when the run begins.
func (c cell) plan() fake.Plan {
	day := map[int]int{60: 1_000, 300: 10_000, 1_000: 100_000}[c.perMinute]
	switch {
	case c.fleet.running:
		day = 0
	case c.condition.shortDay:
		day = 3 * c.perMinute
		if c.condition.hidden {
			day -= c.perMinute / 2
		}
	case c.condition.planChange != 0:
		day = 0 // the day's limit of one plan would end the run on the other
	}
	return fake.Enterprise(c.perMinute, day)
}

// laterPlan is the requests per minute from condition.planChange on: 60 and 1,000 become more, 300
// become fewer.
func (c cell) laterPlan() int { return map[int]int{60: 300, 300: 60, 1_000: 2_000}[c.perMinute] }

// chance returns the random numbers for one thing that has to be decided.
func (c cell) chance(i int) *rand.Rand {
	return rand.New(rand.NewPCG(c.seed, uint64(i))) //nolint:gosec // any bits will do
}

// phase is how far into a minute the run begins: within the first 20 seconds, so that even one
// goroutine can use up what is left of an aligned window.
func (c cell) phase() time.Duration {
	return time.Duration(c.chance(math.MinInt).Int64N(int64(20 * time.Second)))
}

// leg is the way of one request to the service and back.
type leg struct {
	out, back time.Duration
	fate      fate
}

func (l leg) total() time.Duration { return l.out + l.back }

// fate is the outcome of a request on the network.
type fate int

const (
	delivered fate = iota
	lost           // counted by the service, and the connection is reset before the response
	undialled      // there is no connection, and the service never sees it
)

// leg returns what happens to the i-th request that is sent in this cell, counted from 0. Before
// and after the service counts it time passes, so that requests and responses overtake each other.
func (c cell) leg(i int) leg {
	if took := c.burst.took; took > 0 {
		return leg{out: took / 2, back: took / 2}
	}
	r := c.chance(i)
	total := minLatency + time.Duration(r.Int64N(int64(maxLatency-minLatency)))
	l := leg{out: time.Duration(float64(total) * (0.1 + 0.8*r.Float64()))}
	l.back = total - l.out
	switch p := r.Float64(); {
	case p < c.condition.slow:
		l.back += cmp.Or(c.condition.slowBy, 10*time.Second)
	case p < c.condition.lost:
		l.fate = lost
	case p < c.condition.undialled:
		l.fate = undialled
	}
	return l
}

// impatience returns after how long the caller of the i-th item of the job gives up, 0 for never.
func (c cell) impatience(i int) time.Duration {
	r := c.chance(-1 - i)
	if r.Float64() >= c.condition.cancels {
		return 0
	}
	if c.load.percent > 0 || r.IntN(2) == 0 {
		return time.Duration(1 + r.Int64N(int64(maxLatency)))
	}
	return time.Duration(1 + r.Int64N(int64(90*time.Second)))
}
