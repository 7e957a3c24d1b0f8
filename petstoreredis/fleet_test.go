package petstoreredis

import (
	"context"
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

const leastLatency, mostLatency = 20 * time.Millisecond, 200 * time.Millisecond // of a request and its response

// fleet is processes that begin in the same instant and share a job.
type fleet struct {
	window     fake.Window
	limit      int
	processes  int
	goroutines int           // of each
	requests   int           // of all
	minutes    time.Duration // without requests: how long they send as much as they may
	trouble    bool          // requests and responses get lost, and the first process dies
	mayFail    bool          // calls may fail
	seed       uint64
	options    []Option
	limiter    func(t *testing.T, r *testRedis, process int) *Limiter // nil: one with options
	during     func(r *testRedis)                                     // runs meanwhile
}

func (f fleet) String() string {
	return fmt.Sprintf("%dx%d on %d", f.processes, f.goroutines, f.limit)
}

// outcome is what became of the job.
type outcome struct {
	rejected  int
	makespan  time.Duration
	ratio     float64 // of the makespan to the bound
	counts    []int   // calls of each process that succeeded
	longest   time.Duration
	trips     float64 // to Redis for each call
	fallbacks int
}

// link is the network: it delays requests and responses, and loses some.
type link struct {
	http.RoundTripper

	mu      sync.Mutex
	rng     *rand.Rand
	trouble bool
}

// RoundTrip implements http.RoundTripper.
func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	half := (leastLatency + time.Duration(l.rng.Int64N(int64(mostLatency-leastLatency)+1))) / 2
	lost := l.rng.Float64() < 0.02
	l.mu.Unlock()
	pause(half)
	resp, err := l.RoundTripper.RoundTrip(r)
	pause(half)
	if l.trouble && err == nil && lost {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("connection reset")
	}
	return resp, err
}

// run has the processes do the job, each taking what comes next.
func (f fleet) run(t *testing.T) outcome {
	t.Helper()
	s := &shift{fleet: f}
	bubble(t, func(t *testing.T, r *testRedis) {
		r.setLatency(time.Millisecond)
		network := &link{rng: rand.New(rand.NewPCG(f.seed, 1)), trouble: f.trouble}
		pause(time.Duration(network.rng.Int64N(int64(20 * time.Second))))
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(f.limit, 0)), fake.WithBan(10, time.Hour),
			fake.WithBehavior(fake.Behavior{Window: f.window}), fake.WithJournal(0))
		network.RoundTripper = server.HTTPClient().Transport
		if f.during != nil {
			go f.during(r)
			synctest.Wait()
		}
		s.work(t, r, func(l *Limiter) *petstore.Client {
			return server.Client(petstore.WithLimiter(l), petstore.WithMaxWait(time.Hour),
				petstore.WithHTTPClient(&http.Client{Transport: network}))
		})
		s.rejected = server.Usage(server.APIKey()).Limited
		elapse(time.Minute) // the last commands
	})
	calls := 0
	for _, n := range s.counts {
		calls += n
	}
	s.trips /= float64(calls)
	t.Logf("%s: %d calls in %v, %.3f of the bound, %d 429s, %d fallbacks, %.3f round trips for each, the longest %v",
		f, calls, s.makespan, s.ratio, s.rejected, s.fallbacks, s.trips, s.longest)
	return s.outcome
}

// shift is a job that is being done.
type shift struct {
	fleet
	outcome
	start time.Time
	begun atomic.Int64 // requests
	mu    sync.Mutex
}

func (s *shift) work(t *testing.T, r *testRedis, client func(l *Limiter) *petstore.Client) {
	t.Helper()
	var group sync.WaitGroup
	s.start, s.counts = time.Now(), make([]int, s.processes)
	var limiters []*Limiter
	for p := range s.processes {
		l := s.newLimiter(t, r, p)
		limiters = append(limiters, l)
		c, ctx := client(l), t.Context()
		if s.trouble && p == 0 {
			time.AfterFunc(10*time.Second, func() { l.pretend(true) }) // it is heard of no more
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 11*time.Second) // and its calls end with it
			defer cancel()
		}
		for range s.goroutines {
			group.Go(func() {
				for s.more(p) {
					s.call(ctx, t, c, p)
				}
			})
		}
	}
	group.Wait()
	s.makespan = time.Since(s.start)
	if s.requests > 0 {
		s.ratio = float64(s.makespan) / float64(s.bound(s.start))
	}
	for _, l := range limiters {
		s.fallbacks += l.Stats().Fallbacks
		s.trips += float64(l.Stats().RoundTrips)
	}
}

func (s *shift) newLimiter(t *testing.T, r *testRedis, process int) *Limiter {
	if s.limiter != nil {
		return s.limiter(t, r, process)
	}
	return newTestLimiter(t, r, s.options...)
}

// more reports whether a process has another call to make.
func (s *shift) more(process int) bool {
	switch {
	case s.minutes > 0:
		return time.Since(s.start) < s.minutes*time.Minute-time.Second
	case s.trouble && process == 0 && time.Since(s.start) > 9*time.Second:
		return false
	}
	return s.begun.Add(1) <= int64(s.requests)
}

func (s *shift) call(ctx context.Context, t *testing.T, c *petstore.Client, process int) {
	start := time.Now()
	_, err := c.ListPets(ctx, petstore.ListPetsParams{})
	if err != nil {
		assert.True(t, s.mayFail || s.trouble, "%v", err)
		pause(time.Second)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[process]++
	s.longest = max(s.longest, time.Since(start))
}

// bound returns the least time that the windows allow, with requests of the mean latency.
func (f fleet) bound(start time.Time) time.Duration {
	mean := (leastLatency + mostLatency) / 2
	callers := float64(f.processes * f.goroutines)
	now, end := start, start.Truncate(time.Second).Add(time.Minute)
	if f.window == fake.WindowAligned {
		end = start.Truncate(time.Minute).Add(time.Minute)
	}
	for n := f.requests; ; {
		fit := min(n, f.limit, max(1, int(end.Sub(now).Seconds()*callers/mean.Seconds())))
		if n -= fit; n == 0 {
			return now.Sub(start) + time.Duration(math.Ceil(float64(fit)/callers))*mean
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
