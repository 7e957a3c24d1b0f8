package sim

import (
	"fmt"
	"math"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// figure is what petstore-go promises for a cell.
type figure struct {
	bans, failed    int           // at most
	perWindow       int           // rejections in a window, at most
	rejected        int           // in all; 0 promises nothing beyond perWindow
	share           float64       // of what the service admits, at least
	ratio           float64       // elapsed time over the bound, at most; 0 promises nothing
	exact           bool          // the bound knows which requests are sent
	p50, p99, worst time.Duration // what the limiter adds to a call of a load, at most
}

func (c cell) jobFigure(int) figure {
	f := figure{ratio: 1.01, exact: c.condition.cancels == 0}
	switch {
	case c.window == fake.WindowSliding && c.perMinute == 1_000:
		f.ratio = 1.15
	case c.window == fake.WindowSliding:
		f.ratio = 1.06
	}
	if c.condition.absurd {
		f.ratio = max(f.ratio, 1.12)
	}
	if c.condition.headerless || c.condition.unaware {
		f.perWindow, f.ratio = 2, 0
	}
	if c.window == fake.WindowSliding && c.condition.planChange > 0 && c.laterPlan() < c.perMinute {
		f.perWindow = 1 // the Reset of a response before the change is too early after it
	}
	if c.condition.hidden {
		f.perWindow, f.bans = math.MaxInt, 1 // those in flight when the day ends
	}
	if c.byChance() {
		f.failed = 1 // with bad luck in all four attempts
	}
	if c.unbounded() {
		f.ratio = 0
	}
	return f
}

// herdFigure promises nothing for more than eight processes.
func (c cell) herdFigure(int) figure {
	switch n := c.condition.clients; {
	case n > 8:
		return figure{bans: math.MaxInt, failed: math.MaxInt, perWindow: math.MaxInt}
	case n == 2:
		return figure{perWindow: 1, ratio: 1.3}
	}
	return figure{perWindow: 3, ratio: 1.3}
}

// loadFigure is the largest latency that the limiter may add. A program whose first calls begin
// together waits for the first response once, and on 60 a minute a page of ten is a sixth of the
// window, which goes in two or three parts when others use the key or the window slides.
func (c cell) loadFigure(int) figure {
	f := figure{p99: 150 * time.Millisecond, worst: 250 * time.Millisecond}
	calls := c.perMinute * c.load.percent / 100 * int(loadTime/time.Minute)
	switch cold := c.load.programs * (c.load.batch - 1); {
	case c.load.batch >= 10 && c.perMinute == 60:
		f.p50, f.p99, f.worst = 100*time.Millisecond, 400*time.Millisecond, 400*time.Millisecond
		if c.load.slow > 0 { // a cold start behind a slow response waits for a second of silence
			f.p99, f.worst = 1300*time.Millisecond, 1300*time.Millisecond
		}
	case !c.load.short && cold*100 > calls:
		f.p99 = f.worst
	}
	return f
}

// unbounded reports whether a run takes time that is not in the bound: the backoff after a failure,
// requests whose callers have given up, and a window that a single goroutine opens late after a
// slow response.
func (c cell) unbounded() bool {
	return c.byChance() || c.condition.cancels > 0 || c.condition.slow > 0 && c.goroutines == 1
}

// byChance reports whether the run depends on the random part of the backoff, which no seed
// decides.
func (c cell) byChance() bool { return c.condition.lost > 0 || c.condition.undialled > 0 }

// misses returns in what a result falls short of the figure.
func (f figure) misses(r result) []string {
	var misses []string
	miss := func(missed bool, format string, args ...any) {
		if missed {
			misses = append(misses, fmt.Sprintf(format, args...))
		}
	}
	miss(r.failed > f.failed, "%d calls failed", r.failed)
	miss(r.bans > f.bans, "%d bans", r.bans)
	miss(r.worstWindow() > f.perWindow, "%d rejections in a window, at most %d", r.worstWindow(), f.perWindow)
	miss(f.rejected > 0 && len(r.rejected) > f.rejected, "%d rejections, at most %d", len(r.rejected), f.rejected)
	miss(r.share < f.share, "%.3f of the bound, at least %.2f", r.share, f.share)
	miss(f.ratio > 0 && r.ratio() > f.ratio, "%.4f × the bound, at most %.2f", r.ratio(), f.ratio)
	miss(f.exact && r.ratio() < 1, "%.4f × the bound: the bound is wrong", r.ratio())
	if f.worst > 0 {
		p50, p99, worst := r.quantile(0.5), r.quantile(0.99), r.quantile(1)
		miss(p50 > f.p50 || p99 > f.p99 || worst > f.worst, "waits of %s, %s and %s, at most %s, %s and %s",
			p50, p99, worst, f.p50, f.p99, f.worst)
	}
	return misses
}
