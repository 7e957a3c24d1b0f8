package ratelimit

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var seed = flag.Uint64("seed", 0, "changes the times of all simulated deployments; 0 is that of README.md")

// all reports whether all simulations must run, as in .ci/run slow, or only a part of them. All of
// them take ten seconds, and ten times as long with the race detector.
func all() bool { return os.Getenv("PETSTORE_SIMULATIONS") == "all" }

// cases calls f n times: take(k) returns numbers below k, and goes through all their combinations.
func cases(n int, f func(i int, take func(choices int) int)) {
	for i := range n {
		rest := i
		f(i, func(choices int) int { defer func() { rest /= choices }(); return rest % choices })
	}
}

// Growth is a deployment that grows while it is at work: new processes start beside old ones. Each
// has four workers. The service bans the key at the sixth 429 in a row.
type Growth struct {
	Old, New  int
	PerMinute int
	Demand    float64       // what all processes together want, divided by the limit
	Within    time.Duration // the new ones start at random times within this; 0: all at once
	Told      int           // the number of processes that they are told; 0: none
	Leaving   bool          // the old ones stop when the new ones have started
	Window    windowKind
	CatchUp   bool // workers make up for their delays
	Seed      uint64
}

type Grown struct {
	Rejected int     // 429s
	Worst    int     // the most 429s of one new process
	Bans     int     // bans of the key
	Share    float64 // calls that succeeded, divided by those that were wanted and allowed
}

// Run runs the deployment for five minutes after its growth.
func (g Growth) Run() (result Grown) {
	const workers, meanTime = 4, 110 * time.Millisecond // meanTime of a request
	random := rand.New(rand.NewPCG(g.Seed+1_000**seed, 1))
	start := time.Unix(1_000_000_020, 0).Add(time.Duration(random.Int64N(int64(time.Minute))))
	grows := start.Add(90*time.Second + time.Duration(random.Int64N(int64(time.Minute))))
	end := grows.Add(5 * time.Minute)
	wanted := g.Demand * float64(g.PerMinute) / float64(workers*(g.Old+g.New)) // calls of a worker in a minute
	every := time.Duration(float64(time.Minute) / wanted)
	processes := make([]*Process, g.Old+g.New)
	for i := range processes {
		p := &Process{Workers: workers, Every: every, CatchUp: g.CatchUp, Start: start, Stop: end}
		p.budget.processes = g.Told
		if i >= g.Old {
			p.Start = grows.Add(time.Duration(random.Int64N(int64(g.Within) + 1)))
		} else if g.Leaving {
			p.Stop = grows.Add(g.Within + 10*time.Second)
		}
		processes[i] = p
	}
	s := &Service{Window: g.Window, PerMinute: g.PerMinute, BanAfter: 5}
	Run(s, random, processes, start, end)
	result.Rejected, result.Bans = s.Rejected, s.Bans
	done, possible := 0, 0.0
	for _, p := range processes {
		done += p.Done
	}
	for _, p := range processes[g.Old:] {
		result.Worst = max(result.Worst, p.Rejected)
	}
	cycle := every + meanTime // from one call of a worker to its next
	if g.CatchUp {
		cycle = max(every, meanTime)
	}
	for now := start; now.Before(end); now = now.Add(time.Second) {
		perSecond := 0.0
		for _, p := range processes {
			if !now.Before(p.Start) && now.Before(p.Stop) {
				perSecond += workers / cycle.Seconds()
			}
		}
		possible += min(perSecond, float64(g.PerMinute)/60)
	}
	result.Share = float64(done) / possible
	return result
}

// TestGrowth runs deployments that grow while they are at work: 2,160 with up to eight processes,
// and larger ones, which are not told their number. By default it runs one in 41 of them. No key
// may be banned, except in sliding windows, and with large deployments at 60 a minute.
func TestGrowth(t *testing.T) {
	t.Parallel()
	sizes := [][2]int{{1, 1}, {2, 2}, {4, 2}, {4, 4}, {6, 2}, {8, 4}, {8, 8}, {16, 4}, {32, 4}}
	sums := map[string]map[int]Grown{} // by the kind of deployment and the plan
	cases(3*4*2*3*3*2*len(sizes), func(i int, take func(int) int) {
		g := Growth{
			PerMinute: []int{60, 300, 1_000}[take(3)],
			Demand:    []float64{0.4, 0.8, 1.2, 2.5}[take(4)],
			Within:    []time.Duration{0, 20 * time.Second}[take(2)],
		}
		told, windows := take(3), "fixed or aligned"
		g.Seed, g.Window = uint64(take(3)), []windowKind{Fixed, Sliding}[take(2)]
		size := sizes[take(len(sizes))]
		g.Old, g.New, g.Told = size[0], size[1], size[0]*min(told, 1)
		g.Leaving, g.CatchUp = told == 2, g.Seed != 0
		if g.Window == Sliding {
			windows = "sliding"
		} else if g.Seed == 2 {
			g.Window = Aligned
		}
		if !all() && i%41 != 0 || g.Old >= 8 && told > 0 {
			return
		}
		got, row := g.Run(), fmt.Sprintf("%d + %d, %s", g.Old, g.New, windows)
		if g.Old < 8 {
			row = "up to 8, " + windows
		}
		if g.Window != Sliding && (g.Old < 8 || g.PerMinute > 60) {
			assert.Zero(t, got.Bans, "bans: %+v", g)
			assert.LessOrEqual(t, got.Worst, 2, "429s of a new process: %+v", g)
			assert.GreaterOrEqual(t, got.Share, 0.8, "share: %+v", g)
		}
		if sums[row] == nil {
			sums[row] = map[int]Grown{60: {Share: 1}, 300: {Share: 1}, 1_000: {Share: 1}}
		}
		sum := sums[row][g.PerMinute]
		sums[row][g.PerMinute] = Grown{sum.Rejected + got.Rejected, 0, sum.Bans + min(1, got.Bans), min(sum.Share, got.Share)}
	})
	var table strings.Builder
	for row, sum := range sums {
		fmt.Fprintf(&table, "\n| %s |", row)
		for _, perMinute := range []int{60, 300, 1_000} {
			fmt.Fprintf(&table, " %d, %d, %.2f |", sum[perMinute].Rejected, sum[perMinute].Bans, sum[perMinute].Share)
		}
	}
	t.Log(table.String())
	if all() && *seed == 0 { // README.md shows some of the rows
		page, err := os.ReadFile("README.md")
		require.NoError(t, err)
		for _, row := range regexp.MustCompile(`(?m)^\| .*\d, \d.* \|$`).FindAllString(string(page), -1) {
			assert.Contains(t, table.String(), row)
		}
	}
}

// TestHerds simulates 2 to 16 processes that start together or one by one, and then want far more
// than the key allows. By default it runs one case in eleven. Processes that are told their number
// must get no 429. Up to four that are not told must not be banned.
func TestHerds(t *testing.T) {
	t.Parallel()
	cases(4*2*3*3*2, func(i int, take func(int) int) {
		g := Growth{New: []int{2, 4, 8, 16}[take(4)], Demand: 20, PerMinute: []int{60, 300, 1_000}[take(3)], Seed: 1}
		g.Told, g.Window = g.New*take(2), []windowKind{Fixed, Aligned}[take(2)]
		g.Within = time.Duration([]int{0, 20, 60}[take(3)]*(g.New-1)) * time.Second
		if !all() && i%11 != 0 {
			return
		}
		got := g.Run()
		if g.Told > 0 {
			assert.Zero(t, got.Rejected, "429s: %+v", g)
		} else if g.New <= 4 {
			assert.LessOrEqual(t, got.Rejected, 3*g.New, "429s: %+v", g)
			assert.Zero(t, got.Bans, "bans: %+v", g)
		}
	})
}
