package petstoreredis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// fleet is a job that processes share, and the world they do it in.
type fleet struct {
	window      fake.Window
	limit       int
	processes   int
	goroutines  int // of each
	requests    int
	least, most time.Duration // of a request
	seed        uint64
}

func (f fleet) String() string {
	return fmt.Sprintf("%s/%d/%dx%d", map[fake.Window]string{fake.WindowFixed: "fixed", fake.WindowAligned: "aligned", fake.WindowSliding: "sliding"}[f.window], f.limit, f.processes, f.goroutines)
}

// outcome is what became of the job.
type outcome struct {
	rejected int
	makespan time.Duration
	ratio    float64 // of the makespan to the bound
	trips    float64 // to Redis for each request
	fewest   int     // requests of a process
}

// link delays requests on their way and back.
type link struct {
	http.RoundTripper
	delay func() time.Duration
}

func (l link) RoundTrip(r *http.Request) (*http.Response, error) {
	pause(l.delay())
	resp, err := l.RoundTripper.RoundTrip(r)
	pause(l.delay())
	return resp, err
}

func (f fleet) run(t *testing.T) (out outcome) {
	r := newTestRedis(t)
	r.latency = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(f.seed, 1))
		var mu sync.Mutex
		delay := func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return (f.least + time.Duration(rng.Int64N(int64(f.most-f.least)+1))) / 2
		}
		pause(time.Duration(rng.Int64N(int64(20 * time.Second))))
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(f.limit, 0)), fake.WithBan(3, time.Hour),
			fake.WithBehavior(fake.Behavior{Window: f.window}), fake.WithJournal(0))
		var left atomic.Int64
		left.Store(int64(f.requests))
		var group sync.WaitGroup
		start := time.Now()
		done := make([]atomic.Int64, f.processes)
		for p := range f.processes {
			l := newTestLimiter(t, r)
			client := server.Client(petstore.WithLimiter(l), petstore.WithMaxWait(time.Hour),
				petstore.WithHTTPClient(&http.Client{Transport: link{server.Transport(), delay}}))
			for range f.goroutines {
				group.Go(func() {
					for left.Add(-1) >= 0 {
						_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
						if !assert.NoError(t, err) {
							return
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

func TestSweep(t *testing.T) {
	for _, w := range []fake.Window{fake.WindowFixed, fake.WindowSliding} {
		for _, limit := range []int{10, 60, 300, 1000} {
			for _, p := range [][2]int{{1, 1}, {1, 16}, {8, 1}, {8, 8}, {32, 2}} {
				f := fleet{w, limit, p[0], p[1], limit * 7 / 2, 20 * time.Millisecond, 200 * time.Millisecond, 1}
				start := time.Now()
				o := f.run(t)
				fmt.Printf("%-24s rejected %d ratio %.3f trips %.3f fewest %d of %d  (%s)\n", f, o.rejected, o.ratio, o.trips, o.fewest, f.requests/f.processes, time.Since(start).Round(time.Millisecond))
			}
		}
	}
}
