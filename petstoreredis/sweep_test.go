package petstoreredis

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// fleet is a job that processes share, and the service and network they do it with.
type fleet struct {
	window      fake.Window
	limit       int
	processes   int
	goroutines  int // of each
	requests    int
	least, most time.Duration // of a request on its way and back
	trouble     bool          // requests and responses get lost, workers die, commands of Redis fail
	seed        uint64
	options     []Option
}

func (f fleet) String() string {
	name := map[fake.Window]string{
		fake.WindowFixed: "fixed", fake.WindowAligned: "aligned", fake.WindowSliding: "sliding",
	}[f.window]
	return fmt.Sprintf("%s/%d/%dx%d", name, f.limit, f.processes, f.goroutines)
}

// outcome is what became of the job.
type outcome struct {
	rejected int
	makespan time.Duration
	ratio    float64 // of the makespan to the bound
	trips    float64 // to Redis for each request
	fewest   int     // requests of a process
}

// link is the network: it delays requests and responses, and loses some.
type link struct {
	http.RoundTripper
	mu      sync.Mutex
	rng     *rand.Rand
	fleet   fleet
	trouble bool
}

func (l *link) chance() (half time.Duration, fate float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	half = (l.fleet.least + time.Duration(l.rng.Int64N(int64(l.fleet.most-l.fleet.least)+1))) / 2
	return half, l.rng.Float64()
}

// RoundTrip implements http.RoundTripper.
func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	half, fate := l.chance()
	pause(half)
	resp, err := l.RoundTripper.RoundTrip(r)
	pause(half)
	if l.trouble && err == nil && fate < 0.02 {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("connection reset")
	}
	return resp, err
}

// run has the processes do the job, each taking what comes next.
func (f fleet) run(t *testing.T) (out outcome) {
	r := newTestRedis(t)
	r.latency = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		network := &link{rng: rand.New(rand.NewPCG(f.seed, 1)), fleet: f, trouble: f.trouble}
		pause(time.Duration(network.rng.Int64N(int64(20 * time.Second))))
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(f.limit, 0)), fake.WithBan(3, time.Hour),
			fake.WithBehavior(fake.Behavior{Window: f.window}), fake.WithJournal(0))
		network.RoundTripper = server.Transport()
		var left atomic.Int64
		left.Store(int64(f.requests))
		done := make([]atomic.Int64, f.processes)
		var group sync.WaitGroup
		start := time.Now()
		for p := range f.processes {
			l := newTestLimiter(t, r, f.options...)
			client := server.Client(petstore.WithLimiter(l), petstore.WithMaxWait(time.Hour),
				petstore.WithHTTPClient(&http.Client{Transport: network}))
			ctx := t.Context()
			if f.trouble && p == 0 {
				time.AfterFunc(10*time.Second, func() { l.pretend(true) }) // it is heard of no more
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 11*time.Second) // and its calls end with it
				defer cancel()
			}
			for range f.goroutines {
				group.Go(func() {
					for left.Add(-1) >= 0 && !(f.trouble && p == 0 && time.Since(start) > 9*time.Second) {
						if _, err := client.ListPets(ctx, petstore.ListPetsParams{}); !f.trouble {
							assert.NoError(t, err)
						}
						done[p].Add(1)
					}
				})
			}
		}
		group.Wait()
		out.makespan = time.Since(start)
		pause(time.Minute) // the last commands
		out.ratio = float64(out.makespan) / float64(f.bound(start))
		out.rejected = server.Usage(server.APIKey()).Limited
		out.trips = float64(r.trips.Load()) / float64(f.requests)
		out.fewest = math.MaxInt
		for p := range done {
			out.fewest = min(out.fewest, int(done[p].Load()))
		}
	})
	return out
}

// bound is the least time that the windows allow, with requests of the mean latency.
func (f fleet) bound(start time.Time) time.Duration {
	mean := (f.least + f.most) / 2
	rate := float64(f.processes*f.goroutines) / mean.Seconds()
	now, end := start, start.Truncate(time.Second).Add(time.Minute)
	if f.window == fake.WindowAligned {
		end = start.Truncate(time.Minute).Add(time.Minute)
	}
	for n := f.requests; ; {
		fit := min(n, f.limit, max(1, int(end.Sub(now).Seconds()*rate)))
		if n -= fit; n == 0 {
			rounds := math.Ceil(float64(fit) / float64(f.processes*f.goroutines))
			return now.Sub(start) + time.Duration(rounds)*mean
		}
		now, end = end, end.Add(time.Minute)
	}
}

// long skips a test that takes seconds, with -short.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
}

// seeds is how many seeds a sweep tries, PETSTORE_SEEDS if that is set. Otherwise it is one,
// without the largest fleets.
func seeds(t *testing.T) (n uint64, all bool) {
	t.Helper()
	text := os.Getenv("PETSTORE_SEEDS")
	if text == "" {
		return 1, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return n, true
}

// sweep calls f with fleets of all windows, plans and sizes up to a plan and number of processes.
func sweep(t *testing.T, largest int, f func(t *testing.T, f fleet)) {
	t.Helper()
	long(t)
	n, all := seeds(t)
	for _, window := range []fake.Window{fake.WindowFixed, fake.WindowAligned, fake.WindowSliding} {
		for _, limit := range []int{10, 60, 300, 1000} {
			for _, size := range [][2]int{{1, 1}, {1, 16}, {8, 1}, {8, 8}, {32, 2}} {
				one := fleet{
					window: window, limit: limit, processes: size[0], goroutines: size[1], requests: limit * 7 / 2,
					least: 20 * time.Millisecond, most: 200 * time.Millisecond,
				}
				if limit*size[0] > largest && !all {
					continue
				}
				t.Run(one.String(), func(t *testing.T) {
					for one.seed = range n {
						f(t, one)
					}
				})
			}
		}
	}
}

func TestLimiterAcquire_fleetsOfAllSizesAreNeverRejected(t *testing.T) {
	sweep(t, 8_000, func(t *testing.T, f fleet) {
		out := f.run(t)
		t.Logf("ratio %.3f, %.3f round trips for each, fewest %d of %d", out.ratio, out.trips, out.fewest,
			f.requests/f.processes)
		assert.Zero(t, out.rejected, "rejections")
		assert.LessOrEqual(t, out.ratio, 1.1)
		if f.requests >= 20*f.processes {
			assert.GreaterOrEqual(t, out.fewest, f.requests/f.processes/4, "somebody is starved")
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
