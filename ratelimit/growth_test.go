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

// cases calls f n times. In each call of f, take(k) returns a number below k. Over all calls, these
// numbers go through all their combinations.
func cases(n int, f func(i int, take func(choices int) int)) {
	for i := range n {
		rest := i
		f(i, func(choices int) int {
			taken := rest % choices
			rest /= choices
			return taken
		})
	}
}

// growth is a deployment that grows while it is at work: new processes start beside old ones. Each
// process has four workers. The service bans the key at the sixth 429 in a row.
type growth struct {
	old, new  int
	perMinute int
	demand    float64       // what all processes together want, divided by the limit
	within    time.Duration // the new ones start at random times within this; 0: all at once
	told      int           // the number of processes that each one is told; 0: not told
	leaving   bool          // the old ones stop when the new ones have started
	window    windowKind
	catchUp   bool // workers make up for their delays
	seed      uint64
}

type grown struct {
	rejected int     // 429s
	worst    int     // the most 429s of one new process
	bans     int     // bans of the key
	share    float64 // calls that succeeded, divided by those that were wanted and allowed
}

// run runs the deployment for five minutes after its growth.
func (g growth) run() (result grown) {
	const workers, meanTime = 4, 110 * time.Millisecond // meanTime of a request
	random := rand.New(rand.NewPCG(g.seed+1_000**seed, 1))
	start := time.Unix(1_000_000_020, 0).Add(time.Duration(random.Int64N(int64(time.Minute))))
	grows := start.Add(90*time.Second + time.Duration(random.Int64N(int64(time.Minute))))
	end := grows.Add(5 * time.Minute)
	wanted := g.demand * float64(g.perMinute) / float64(workers*(g.old+g.new)) // calls of a worker in a minute
	every := time.Duration(float64(time.Minute) / wanted)
	processes := make([]*process, g.old+g.new)
	for i := range processes {
		p := &process{workers: workers, every: every, catchUp: g.catchUp, start: start, stop: end}
		p.budget.processes = g.told
		if i >= g.old {
			p.start = grows.Add(time.Duration(random.Int64N(int64(g.within) + 1)))
		} else if g.leaving {
			p.stop = grows.Add(g.within + 10*time.Second)
		}
		processes[i] = p
	}
	s := &service{window: g.window, perMinute: g.perMinute, banAfter: 5}
	simulate(s, random, processes, start, end)
	result.rejected, result.bans = s.rejected, s.bans
	done, possible := 0, 0.0
	for _, p := range processes {
		done += p.done
	}
	for _, p := range processes[g.old:] {
		result.worst = max(result.worst, p.rejected)
	}
	cycle := every + meanTime // from one call of a worker to its next
	if g.catchUp {
		cycle = max(every, meanTime)
	}
	for now := start; now.Before(end); now = now.Add(time.Second) {
		perSecond := 0.0
		for _, p := range processes {
			if !now.Before(p.start) && now.Before(p.stop) {
				perSecond += workers / cycle.Seconds()
			}
		}
		possible += min(perSecond, float64(g.perMinute)/60)
	}
	result.share = float64(done) / possible
	return result
}

// TestGrowth runs deployments that grow while they are at work: 2,160 with up to eight processes,
// and larger ones, whose processes are not told their number. By default it runs one in 41 of them.
// No key may be banned, except in sliding windows, and in large deployments at 60 a minute.
func TestGrowth(t *testing.T) {
	t.Parallel()
	sizes := [][2]int{{1, 1}, {2, 2}, {4, 2}, {4, 4}, {6, 2}, {8, 4}, {8, 8}, {16, 4}, {32, 4}}
	sums := map[string]map[int]grown{} // by the kind of deployment and the plan
	cases(3*4*2*3*3*2*len(sizes), func(i int, take func(int) int) {
		g := growth{
			perMinute: []int{60, 300, 1_000}[take(3)],
			demand:    []float64{0.4, 0.8, 1.2, 2.5}[take(4)],
			within:    []time.Duration{0, 20 * time.Second}[take(2)],
		}
		told, windows := take(3), "fixed or aligned"
		g.seed, g.window = uint64(take(3)), []windowKind{fixed, sliding}[take(2)]
		size := sizes[take(len(sizes))]
		g.old, g.new, g.told = size[0], size[1], size[0]*min(told, 1)
		g.leaving, g.catchUp = told == 2, g.seed != 0
		if g.window == sliding {
			windows = "sliding"
		} else if g.seed == 2 {
			g.window = aligned
		}
		if !all() && i%41 != 0 || g.old >= 8 && told > 0 {
			return
		}
		got, row := g.run(), fmt.Sprintf("%d + %d, %s", g.old, g.new, windows)
		if g.old < 8 {
			row = "up to 8, " + windows
		}
		if g.window != sliding && (g.old < 8 || g.perMinute > 60) {
			assert.Zero(t, got.bans, "bans: %+v", g)
			assert.LessOrEqual(t, got.worst, 2, "429s of a new process: %+v", g)
			assert.GreaterOrEqual(t, got.share, 0.8, "share: %+v", g)
		}
		if sums[row] == nil {
			sums[row] = map[int]grown{60: {share: 1}, 300: {share: 1}, 1_000: {share: 1}}
		}
		sum := sums[row][g.perMinute]
		sums[row][g.perMinute] = grown{sum.rejected + got.rejected, 0, sum.bans + min(1, got.bans), min(sum.share, got.share)}
	})
	var table strings.Builder
	for row, sum := range sums {
		fmt.Fprintf(&table, "\n| %s |", row)
		for _, perMinute := range []int{60, 300, 1_000} {
			fmt.Fprintf(&table, " %d, %d, %.2f |", sum[perMinute].rejected, sum[perMinute].bans, sum[perMinute].share)
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
// than the key allows. By default it runs one case in eleven. If the processes are told their
// number, there must be no 429. If they are not, and there are at most four of them, there must be
// no ban.
func TestHerds(t *testing.T) {
	t.Parallel()
	cases(4*2*3*3*2, func(i int, take func(int) int) {
		g := growth{new: []int{2, 4, 8, 16}[take(4)], demand: 20, perMinute: []int{60, 300, 1_000}[take(3)], seed: 1}
		g.told, g.window = g.new*take(2), []windowKind{fixed, aligned}[take(2)]
		g.within = time.Duration([]int{0, 20, 60}[take(3)]*(g.new-1)) * time.Second
		if !all() && i%11 != 0 {
			return
		}
		got := g.run()
		if g.told > 0 {
			assert.Zero(t, got.rejected, "429s: %+v", g)
		} else if g.new <= 4 {
			assert.LessOrEqual(t, got.rejected, 3*g.new, "429s: %+v", g)
			assert.Zero(t, got.bans, "bans: %+v", g)
		}
	})
}
