package sim

import (
	"fmt"
	"math"
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

// herds has processes that start at the same time and share a job, each with eight goroutines and
// without knowing of the others.
func herds(seed uint64) suite {
	s := suite{name: "herd", heading: "processes", toldToo: true, figure: cell.herdFigure, entry: jobEntry}
	for _, n := range []int{2, 4, 8, 32, 100} {
		k := condition{
			name: fmt.Sprintf("herd-%d", n), text: fmt.Sprint(n), clients: n, unaware: true, banAfter: strictBan,
		}
		for _, c := range grid(k, seed, (*run).doJob) {
			c.goroutines = 8 * n
			s.cells = append(s.cells, c)
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
		ratio = 1.06
	}
	if c.absurd {
		ratio = max(ratio, 1.12)
	}
	return ratio
}

// byChance reports whether the run depends on the random part of the backoff, which no seed
// decides.
func (c cell) byChance() bool { return c.lost > 0 || c.undialled > 0 }

// herdFigure promises nothing for more than eight processes.
func (c cell) herdFigure(bool) figure {
	switch {
	case c.clients > 8:
		return figure{bans: math.MaxInt, failed: math.MaxInt, perWindow: math.MaxInt}
	case c.clients == 2:
		return figure{perWindow: 1, ratio: 1.3}
	}
	return figure{perWindow: 3, ratio: 1.3}
}

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
