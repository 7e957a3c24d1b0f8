package sim

import (
	"fmt"

	"github.com/petstore/petstore-go/fake"
)

// figure is what petstore-go promises for a cell, besides that nobody is banned.
type figure struct {
	failed    int     // calls, at most
	perWindow int     // rejections in a window, at most
	ratio     float64 // elapsed time over the bound, at most; 0 promises nothing
	exact     bool    // the bound knows which requests are sent
}

func (c cell) figure() figure {
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
		f.perWindow = 1 // the Reset that was told before the change is too early after it
	}
	if c.byChance() {
		f.failed = 1 // with bad luck in all four attempts
	}
	if c.unbounded() {
		f.ratio = 0
	}
	return f
}

// unbounded reports whether what takes time is not in the bound: the backoff after a failure, what
// was sent for nobody, and that one goroutine which a slow answer holds up opens the next window late.
func (c cell) unbounded() bool {
	return c.byChance() || c.condition.cancels > 0 || c.condition.slow > 0 && c.goroutines == 1
}

// byChance reports whether the run depends on the random part of the backoff, which no seed decides.
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
	miss(r.bans > 0, "%d bans", r.bans)
	miss(r.worstWindow() > f.perWindow, "%d rejections in a window, at most %d", r.worstWindow(), f.perWindow)
	miss(f.ratio > 0 && r.ratio() > f.ratio, "%.4f × the bound, at most %.2f", r.ratio(), f.ratio)
	miss(f.exact && r.ratio() < 1, "%.4f × the bound: the bound is wrong", r.ratio())
	return misses
}
