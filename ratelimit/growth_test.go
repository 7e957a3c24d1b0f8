package ratelimit

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var seed = flag.Uint64("seed", 0, "changes the times of all simulated deployments; 0 is that of README.md")

// all reports whether all simulations run, as in .ci/run slow, or only a part of them. All of them
// take ten seconds, and ten times as long with the race detector.
func all() bool { return os.Getenv("PETSTORE_SIMULATIONS") == "all" }

// Growth is a deployment that grows while it is at work: new processes start beside old ones. Each
// has four workers, and the service bans the key after five further requests.
type Growth struct {
	Old, New  int
	PerMinute int
	Demand    float64       // what all processes together want, as a part of what the key allows
	Within    time.Duration // the new ones start at random times within this; 0 starts all at once
	Told      int           // the number of processes that they are told; 0 is none
	Leaving   bool          // the old ones stop when the new ones have started
	Window    windowKind
	CatchUp   bool // workers make up for their delays
	Seed      uint64
}

// Grown is the outcome of a Growth.
type Grown struct {
	Rejected int     // 429s
	Worst    int     // the most 429s of one new process
	Bans     int     // bans of the key
	Share    float64 // what they got, as a part of what they wanted and the key allows
}

// Run runs the deployment for five minutes after its growth.
func (g Growth) Run() Grown {
	const workers = 4
	random := rand.New(rand.NewPCG(g.Seed+1_000**seed, 1))
	start := time.Unix(1_000_000_020, 0).Add(time.Duration(random.Int64N(int64(time.Minute))))
	grows := start.Add(90*time.Second + time.Duration(random.Int64N(int64(time.Minute))))
	end := grows.Add(5 * time.Minute)
	wanted := g.Demand * float64(g.PerMinute) / float64(workers*(g.Old+g.New)) // calls of a worker in a minute
	every := time.Duration(float64(time.Minute) / wanted)
	processes := make([]*Process, g.Old+g.New)
	for i := range processes {
		p := &Process{Workers: workers, Every: every, CatchUp: g.CatchUp, Start: start}
		p.budget.processes = g.Told
		switch {
		case i >= g.Old:
			p.Start = grows.Add(time.Duration(random.Int64N(int64(g.Within) + 1)))
		case g.Leaving:
			p.Stop = grows.Add(g.Within + 10*time.Second)
		}
		processes[i] = p
	}
	s := &Service{Window: g.Window, PerMinute: g.PerMinute, BanAfter: 5}
	Run(s, random, processes, start, end)
	result := Grown{Rejected: s.Rejected, Bans: s.Bans}
	done, possible := 0, 0.0
	for i, p := range processes {
		done += p.Done
		if i >= g.Old {
			result.Worst = max(result.Worst, p.Rejected)
		}
	}
	for now := start; now.Before(end); now = now.Add(time.Second) {
		perSecond := 0.0
		for _, p := range processes {
			perSecond += p.perSecond(now)
		}
		possible += min(perSecond, float64(g.PerMinute)/60)
	}
	result.Share = float64(done) / possible
	return result
}

// perSecond returns how many calls p wants to make in a second at that time.
func (p *Process) perSecond(now time.Time) float64 {
	const meanTime = 110 * time.Millisecond // of a request
	cycle := max(p.Every, meanTime)
	switch {
	case now.Before(p.Start) || !p.Stop.IsZero() && !now.Before(p.Stop):
		return 0
	case !p.CatchUp:
		cycle = p.Every + meanTime
	}
	return float64(p.Workers) / cycle.Seconds()
}

// growths has deployments that grow while they are at work: 2,160 of up to eight processes, and
// larger ones, which are not told their number.
func growths() (all []Growth) {
	for _, size := range [][2]int{{1, 1}, {2, 2}, {4, 2}, {4, 4}, {6, 2}, {8, 4}, {8, 8}, {16, 4}, {32, 4}} {
		for i := range 3 * 4 * 2 * 3 * 3 * 2 {
			take := func(n int) int { defer func() { i /= n }(); return i % n }
			g := Growth{
				Old: size[0], New: size[1],
				PerMinute: []int{60, 300, 1_000}[take(3)],
				Demand:    []float64{0.4, 0.8, 1.2, 2.5}[take(4)],
				Within:    []time.Duration{0, 20 * time.Second}[take(2)],
				Told:      []int{0, size[0], -size[0]}[take(3)],
				Seed:      uint64(take(3)),
				Window:    []windowKind{Fixed, Sliding}[take(2)],
			}
			g.Told, g.Leaving, g.CatchUp = max(g.Told, -g.Told), g.Told < 0, g.Seed != 0
			if g.Seed == 2 && g.Window == Fixed {
				g.Window = Aligned
			}
			if size[0] < 8 || g.Told == 0 {
				all = append(all, g)
			}
		}
	}
	return all
}

// TestGrowth runs all deployments, or one in 41. Those for which it is possible must get no ban.
func TestGrowth(t *testing.T) {
	t.Parallel()
	sums, rows := map[string]*[3]Grown{}, []string(nil)
	for i, g := range growths() {
		if !all() && i%41 != 0 {
			continue
		}
		got, row := g.Run(), fmt.Sprintf("%d + %d, fixed or aligned", g.Old, g.New)
		if g.Old < 8 {
			row = "up to 8, fixed or aligned"
		}
		if g.Window == Sliding {
			row = strings.ReplaceAll(row, "fixed or aligned", "sliding")
		} else if g.Old < 8 || g.PerMinute > 60 {
			assert.Zero(t, got.Bans, "bans: %+v", g)
			assert.LessOrEqual(t, got.Worst, 2, "429s of a new process: %+v", g)
			assert.GreaterOrEqual(t, got.Share, 0.8, "share: %+v", g)
		}
		if sums[row] == nil {
			sums[row], rows = &[3]Grown{{Share: 1}, {Share: 1}, {Share: 1}}, append(rows, row)
		}
		sum := &sums[row][slices.Index([]int{60, 300, 1_000}, g.PerMinute)]
		*sum = Grown{Rejected: sum.Rejected + got.Rejected, Bans: sum.Bans + min(1, got.Bans), Share: min(sum.Share, got.Share)}
	}
	table := "\n| processes, windows | 60 | 300 | 1,000 |\n|---|---|---|---|\n"
	for _, row := range rows {
		table += "| " + row
		for _, s := range sums[row] {
			table += fmt.Sprintf(" | %d, %d, %.2f", s.Rejected, s.Bans, s.Share)
		}
		table += " |\n"
	}
	t.Log(table)
	if all() && *seed == 0 { // README.md shows some of the rows
		page, err := os.ReadFile("README.md")
		require.NoError(t, err)
		for _, row := range regexp.MustCompile(`(?m)^\| .*\d, \d.* \|$`).FindAllString(string(page), -1) {
			assert.Contains(t, table, row)
		}
	}
}

// TestHerds simulates 2 to 16 processes that start one after the other, and then want far more than
// the key allows. It runs all of these simulations, or one in eleven. Processes that are told their
// number must get no 429, and four that are not told no ban.
func TestHerds(t *testing.T) {
	t.Parallel()
	for i := range 4 * 2 * 3 * 3 * 3 {
		take := func(n int) int { defer func() { i /= n }(); return i % n }
		if skipped := !all() && i%11 != 0; skipped {
			continue
		}
		g := Growth{New: []int{2, 4, 8, 16}[take(4)], Demand: 20, PerMinute: []int{60, 300, 1_000}[take(3)], Seed: 1}
		g.Told, g.Window = g.New*take(2), []windowKind{Fixed, Aligned, Sliding}[take(3)]
		g.Within = time.Duration([]int{0, 20, 60}[take(3)]*(g.New-1)) * time.Second
		switch got := g.Run(); {
		case g.Window == Sliding:
		case g.Told > 0:
			assert.Zero(t, got.Rejected, "429s: %+v", g)
		case g.New <= 4:
			assert.LessOrEqual(t, got.Rejected, 3*g.New, "429s: %+v", g)
			assert.Zero(t, got.Bans, "bans: %+v", g)
		}
	}
}
