package petstoreredis

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/golden"
)

// sweep calls f with fleets of all windows, plans and sizes up to a plan and number of processes.
func sweep(t *testing.T, largest int, f func(t *testing.T, f fleet)) {
	t.Helper()
	long(t)
	for name, window := range map[string]fake.Window{
		"fixed": fake.WindowFixed, "aligned": fake.WindowAligned, "sliding": fake.WindowSliding,
	} {
		for _, limit := range []int{10, 60, 300, 1000} {
			for _, size := range [][2]int{{1, 1}, {1, 16}, {8, 1}, {8, 8}, {32, 2}} {
				one := fleet{
					window: window, limit: limit, processes: size[0], goroutines: size[1], requests: limit * 7 / 2,
				}
				if limit*size[0] <= largest {
					t.Run(name+" "+one.String(), func(t *testing.T) { f(t, one) })
				}
			}
		}
	}
}

func TestLimiterAcquire_fleetsOfAllSizesAreNeverRejected(t *testing.T) {
	sweep(t, 8_000, func(t *testing.T, f fleet) {
		out := f.run(t)
		assert.Zero(t, out.rejected, "rejections")
		assert.LessOrEqual(t, out.ratio, 1.1)
		if f.requests >= 20*f.processes {
			assert.GreaterOrEqual(t, slices.Min(out.counts), f.requests/f.processes/4, "somebody is starved")
		}
		if f.processes <= 8 && f.limit >= 60 && f.window != fake.WindowSliding {
			assert.LessOrEqual(t, out.trips, map[bool]float64{true: 0.2, false: 1}[f.limit == 1000], "round trips")
		}
	})
}

func TestLimiterAcquire_fleetsInTroubleAreNeverRejected(t *testing.T) {
	sweep(t, 2_400, func(t *testing.T, f fleet) {
		if f.window == fake.WindowSliding {
			return // a lost response of the first request leaves open when a sliding window has room again
		}
		f.trouble = true
		assert.Zero(t, f.run(t).rejected, "rejections")
	})
}

// With UPDATE_GOLDEN=1, this writes the table that docs/scaling.md cites, of larger fleets, too.
func TestLimiterAcquire_largeFleets(t *testing.T) {
	long(t)
	table := [][]string{{
		"requests a minute", "processes", "goroutines in each", "429s", "time over the bound", "round trips for each request",
		"requests of a process, least and mean",
	}}
	for _, size := range [][3]int{
		{60, 8, 4}, {300, 8, 4}, {1000, 1, 32}, {1000, 8, 4}, {1000, 8, 1}, {1000, 100, 1}, {1000, 1000, 1}, {10_000, 100, 4},
	} {
		f := fleet{limit: size[0], processes: size[1], goroutines: size[2], requests: size[0] * 5 / 2}
		if !golden.Update() && f.processes*f.limit > 100_000 {
			continue
		}
		out := f.run(t)
		assert.Zero(t, out.rejected, "rejections of %s", f)
		assert.Positive(t, slices.Min(out.counts), "%s", f)
		table = append(table, []string{
			fmt.Sprint(f.limit), fmt.Sprint(f.processes), fmt.Sprint(f.goroutines), fmt.Sprint(out.rejected),
			fmt.Sprintf("%.3f", out.ratio), fmt.Sprintf("%.2f", out.trips),
			fmt.Sprintf("%d, %.1f", slices.Min(out.counts), float64(f.requests)/float64(f.processes)),
		})
	}
	if golden.Update() {
		var text strings.Builder
		require.NoError(t, csv.NewWriter(&text).WriteAll(table))
		require.NoError(t, os.WriteFile("testdata/simulated.csv", []byte(text.String()), 0o644))
	}
}

func TestLimiterAcquire_fair(t *testing.T) {
	long(t)
	for _, f := range []fleet{
		{limit: 300, processes: 8, goroutines: 8},
		{limit: 1000, processes: 8, goroutines: 8},
		{limit: 300, processes: 32, goroutines: 2},
		{limit: 1000, processes: 32, goroutines: 2},
	} {
		t.Run(f.String(), func(t *testing.T) {
			f.minutes = 3
			out := f.run(t)
			sum := 0
			for _, n := range out.counts {
				sum += n
			}
			fairness := float64(slices.Min(out.counts)*f.processes) / float64(sum)
			assert.GreaterOrEqual(t, fairness, map[int]float64{8: 0.8, 32: 0.7}[f.processes], "least to mean")
			assert.Less(t, out.longest, 2*time.Minute, "a call has waited for two windows while others had one")
			assert.Zero(t, out.rejected)
		})
	}
}

func TestLimiterAcquire_coldStart(t *testing.T) {
	slow := func(r *testRedis) { // to dial, or to say hello, and to run the script
		r.setLatency(300 * time.Millisecond)
		pause(time.Second)
		r.setLatency(time.Millisecond)
	}
	for _, size := range [][3]int{{60, 16, 1}, {60, 24, 1}, {60, 32, 1}, {60, 64, 1}, {300, 64, 4}, {1000, 64, 4}} {
		f := fleet{limit: size[0], processes: size[1], goroutines: size[2], minutes: 1, during: slow}
		t.Run(f.String(), func(t *testing.T) {
			out := f.run(t)
			assert.Zero(t, out.rejected)
			assert.Zero(t, out.fallbacks)
		})
	}
}

func TestLimiterAcquire_neverHeardOfRedis(t *testing.T) {
	for _, f := range []fleet{
		{limit: 60, processes: 8, goroutines: 4},
		{limit: 60, processes: 32, goroutines: 1},
		{limit: 1000, processes: 64, goroutines: 4},
		{limit: 60, processes: 64, goroutines: 1, options: []Option{WithShare(64)}},
		{limit: 60, processes: 200, goroutines: 1, options: []Option{WithShare(200)}},
	} {
		t.Run(f.String(), func(t *testing.T) {
			f.minutes, f.mayFail, f.during = 3, true, func(r *testRedis) { r.down.Store(true) }
			assert.LessOrEqual(t, f.run(t).rejected, 2)
		})
	}
}

func TestLimiterAcquire_redisComesBack(t *testing.T) {
	for name, flushed := range map[string]bool{"with the state of a fleet that has sent meanwhile": false, "empty": true} {
		for _, limit := range []int{60, 300} {
			t.Run(fmt.Sprint(name, " on ", limit), func(t *testing.T) {
				f := fleet{limit: limit, processes: 8, goroutines: 4, requests: limit * 8 / 3}
				f.during = func(r *testRedis) {
					pause(time.Second)
					r.down.Store(true)
					pause(70 * time.Second) // the next window is not used up, but what is left of it is divided among them
					if flushed {
						r.FlushAll()
					}
					r.down.Store(false)
				}
				out := f.run(t)
				assert.Zero(t, out.rejected)
				assert.LessOrEqual(t, out.makespan, 4*time.Minute, "three windows, and one to find together again")
			})
		}
	}
}

func TestNewLimiter_twoNamesForOneKey(t *testing.T) {
	long(t)
	for seed := range uint64(3) {
		f := fleet{limit: 300, processes: 8, goroutines: 4, requests: 800, mayFail: true, seed: seed}
		f.limiter = func(t *testing.T, r *testRedis, process int) *Limiter {
			l, err := NewLimiter(r.client(t), []string{"a", "b"}[process%2])
			require.NoError(t, err)
			return l
		}
		assert.Less(t, f.run(t).rejected, 10, "as many in a row would ban the key")
	}
}

func TestWithTimeout_defaultSuitsDistantRedis(t *testing.T) {
	rng, mu := rand.New(rand.NewPCG(5, 1)), sync.Mutex{}
	chance := func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return rng.Float64()
	}
	f := fleet{limit: 300, processes: 8, goroutines: 4, requests: 640} // two windows and a bit
	f.limiter = func(t *testing.T, r *testRedis, _ int) *Limiter {
		l, err := NewLimiter(r.distantClient(t, chance), "key")
		require.NoError(t, err)
		return l
	}
	out := f.run(t)
	assert.LessOrEqual(t, out.rejected, 2)
	assert.LessOrEqual(t, out.fallbacks, 2)
	assert.Less(t, out.makespan, 130*time.Second)
}
