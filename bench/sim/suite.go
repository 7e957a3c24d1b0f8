// Package sim runs clients of the Pet Store Service against package fake in virtual time, and
// compares the calls that they complete, their 429s and the time that they take with the least time
// that the windows of the rate limit allow.
//
// A cell is one situation: how the service counts, how many requests a minute it allows, how many
// goroutines call it, and one condition such as a skewed clock. A suite is the cells of one table.
// A run is one cell with petstore-go as its users get it. Its latencies and faults come from the
// cell's seed by the number of the request, not by the clock or the goroutine, so that a run gives
// the same figures every time.
//
// The tests of this package assert the figures that petstore-go promises, and with
// UPDATE_GOLDEN=1 write docs/limiter.md.
package sim

import (
	"fmt"
	"time"
)

// suite is the cells of one table of the document.
type suite struct {
	name    string
	heading string // of the first column, in which each line has the text of its conditions
	toldToo bool   // it also runs with NewLimiter(Processes(n))
	cells   []cell
	figure  func(c cell, told bool) figure
	entry   func(t total) string // of the document
}

// suites returns all of them.
func suites(seed uint64) []suite {
	return []suite{jobs(seed), loads(seed), bursts(seed), fleets(seed)}
}

// figure is what petstore-go promises for a cell.
type figure struct {
	bans, failed      int           // at most
	perWindow         int           // rejections in a window, at most
	rejected          int           // in all; 0 promises nothing beyond perWindow
	share             float64       // of what the service admits, at least
	ratio             float64       // elapsed time over the bound, at most; 0 promises nothing
	exact             bool          // the bound knows which requests are sent
	p50, p99, longest time.Duration // what the limiter adds to a call of a load, at most
}

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
	miss(r.worstWindow > f.perWindow, "%d rejections in a window, at most %d", r.worstWindow, f.perWindow)
	miss(f.rejected > 0 && r.rejected > f.rejected, "%d rejections, at most %d", r.rejected, f.rejected)
	miss(r.share < f.share, "%.3f of the bound, at least %.2f", r.share, f.share)
	miss(f.ratio > 0 && r.ratio > f.ratio, "%.4f × the bound, at most %.2f", r.ratio, f.ratio)
	miss(f.exact && r.ratio < 1, "%.4f × the bound: the bound is wrong", r.ratio)
	late := r.p50 > f.p50 || r.p99 > f.p99 || r.longest > f.longest
	miss(f.longest > 0 && late, "waits of %s, %s and %s, at most %s, %s and %s",
		r.p50, r.p99, r.longest, f.p50, f.p99, f.longest)
	return misses
}
