package sim

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// jobs has every condition with every window, plan and number of goroutines.
func jobs(seed uint64) suite {
	s := suite{name: "job", heading: "condition", figure: cell.jobFigure, entry: jobEntry}
	for _, k := range conditions() {
		for _, c := range grid(k, seed, (*run).doJob) {
			for _, c.goroutines = range []int{1, 8, 64, 512} {
				s.cells = append(s.cells, c)
			}
		}
	}
	return s
}

func (c cell) jobFigure(bool) figure {
	f := figure{ratio: c.jobRatio(), exact: c.cancels == 0}
	if c.bare == 1 || c.unaware {
		f.perWindow, f.ratio = 2, 0
	}
	if c.window == fake.WindowSliding && c.planChange > 0 && c.laterPlan() < c.perMinute {
		f.perWindow = 1 // the Reset of a response before the change is too early after it
	}
	if c.byChance() {
		f.failed = 1 // with bad luck in all four attempts
	}
	return f
}

// jobRatio returns the ratio of a job's figure.
func (c cell) jobRatio() float64 {
	// These take time that is not in the bound: the backoff after a failure, requests whose callers
	// have given up, and a window that a single goroutine opens late after a slow response.
	if c.byChance() || c.cancels > 0 || c.slow > 0 && c.goroutines == 1 {
		return 0
	}
	ratio := 1.01
	switch {
	case c.window == fake.WindowSliding && c.perMinute == 1_000:
		ratio = 1.15
	case c.window == fake.WindowSliding:
		ratio = 1.07
	}
	if c.absurd {
		ratio = max(ratio, 1.12)
	}
	if c.slow > 0 { // the bound has the goroutines share each slow response
		ratio = max(ratio, 1.03)
	}
	return ratio
}

// byChance reports whether the run depends on the random part of the backoff, which no seed
// decides.
func (c cell) byChance() bool { return c.lost > 0 || c.undialled > 0 }

// doJob compares the time of the job with the bound, without the night in which the day's quota is
// used up.
func (r *run) doJob() {
	r.shareItems(r.newClients())
	elapsed, bound := time.Since(r.start), r.bound(r.start.Add(r.skew), r.legs(r.items-r.left))
	if r.dayWindows > 0 {
		const night = 24*time.Hour - 3*time.Minute
		elapsed, bound = max(0, elapsed-night), bound-night
	}
	r.ratio = elapsed.Seconds() / bound.Seconds()
}

// shareItems has the callers share the items of the job.
func (r *run) shareItems(clients []*petstore.Client) {
	var next atomic.Int64
	r.eachCaller(clients, func(client *petstore.Client, n int, t *trip) {
		for i := int(next.Add(1) - 1); i < r.items; i = int(next.Add(1) - 1) {
			r.call(client, n, i, t)
		}
	})
}

// bound returns a time before which no client can have had the responses to these requests, however
// well it knows the windows, the latencies and the faults ahead.
//
// Requests for which the windows so far have no room are counted after the next one has opened.
// From then on the goroutines are busy with them, and wait for the slowest. Each of the first of
// them may have left before, and then only its way back remains.
func (c cell) bound(begin time.Time, legs []leg) time.Duration {
	byBack := func(a, b leg) int { return cmp.Compare(a.back, b.back) }
	shortest := slices.MinFunc(legs, byBack).back
	rest := make([]time.Duration, len(legs)+1) // the sum of ways from the i-th on
	for i, l := range slices.Backward(legs) {
		rest[i] = rest[i+1] + l.total()
	}
	bound := time.Duration(0)
	for window, first := 0, 0; first < len(legs); window++ {
		opens := max(0, c.opens(begin, window).Sub(begin))
		crossing := min(c.goroutines, len(legs)-first)
		busy := time.Duration(crossing)*shortest + rest[first+crossing]
		slowest := slices.MaxFunc(legs[first:], byBack).back - maxLatency // it may have left before others
		bound = max(bound, opens+slowest, opens+busy/time.Duration(c.goroutines))
		limit := c.perMinute
		if c.planChange > 0 && opens >= c.planChange {
			limit = c.laterPlan()
		}
		first += limit
	}
	return bound
}

// opens returns the earliest time at which a window opens. The first one may have opened up to a
// second before the first request, or with the minute of the clock.
func (c cell) opens(begin time.Time, window int) time.Time {
	grain, day := time.Second, time.Second
	if c.window == fake.WindowAligned {
		grain, day = time.Minute, 24*time.Hour
	}
	if days := int(c.dayWindows); days > 0 && window >= days {
		begin, grain, window = begin.Add(24*time.Hour), day, window-days
	}
	return begin.Truncate(grain).Add(time.Duration(window) * time.Minute)
}

// legs returns the ways of the requests that the service counts until n of them have a response.
func (c cell) legs(n int) []leg {
	var legs []leg
	for i := 0; n > 0; i++ {
		l := c.leg(i)
		if l.undialled {
			continue
		}
		legs = append(legs, l)
		if !l.lost {
			n--
		}
	}
	return legs
}
