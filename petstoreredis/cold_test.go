package petstoreredis

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// rush is processes that begin in the same instant and send as much as they may.
type rush struct {
	limit, processes, goroutines int
	minutes                      time.Duration
	options                      []Option
	trouble                      func(r *testRedis) // runs meanwhile
}

// rushed is what became of a rush.
type rushed struct {
	usage     fake.Usage
	fallbacks int
	trips     int
	counts    []int         // calls of each process that succeeded
	longest   time.Duration // of a call
}

func (f rush) run(t *testing.T) (out rushed) {
	t.Helper()
	bubble(t, func(t *testing.T, r *testRedis) {
		r.setLatency(time.Millisecond)
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(f.limit, 0)), fake.WithBan(5, time.Hour),
			fake.WithJournal(0))
		network := &link{
			RoundTripper: server.Transport(), rng: rand.New(rand.NewPCG(3, uint64(f.processes))),
			fleet: fleet{least: 20 * time.Millisecond, most: 200 * time.Millisecond},
		}
		if f.trouble != nil {
			go f.trouble(r)
			synctest.Wait()
		}
		end := time.Now().Add(f.minutes*time.Minute - time.Second)
		out.counts = make([]int, f.processes)
		var limiters []*Limiter
		var group sync.WaitGroup
		var mu sync.Mutex
		for i := range f.processes {
			l := newTestLimiter(t, r, f.options...)
			limiters = append(limiters, l)
			client := server.Client(petstore.WithLimiter(l), petstore.WithMaxWait(time.Hour),
				petstore.WithHTTPClient(&http.Client{Transport: network}))
			for range f.goroutines {
				group.Go(func() {
					for time.Now().Before(end) {
						start := time.Now()
						if _, err := client.ListPets(t.Context(), petstore.ListPetsParams{}); err != nil {
							pause(time.Second)
							continue
						}
						mu.Lock()
						out.counts[i]++
						out.longest = max(out.longest, time.Since(start))
						mu.Unlock()
					}
				})
			}
		}
		pause(time.Until(end))
		out.usage = server.Usage(server.APIKey())
		for _, l := range limiters {
			out.fallbacks += l.Stats().Fallbacks
			out.trips += l.Stats().RoundTrips
		}
		group.Wait()
		elapse(time.Minute)
	})
	t.Logf("%d 429s, banned: %t, %d fallbacks", out.usage.Limited, !out.usage.BannedUntil.IsZero(), out.fallbacks)
	return out
}

func TestLimiterAcquire_coldStart(t *testing.T) {
	slow := func(r *testRedis) { // to dial, or to say hello, and to run the script
		r.setLatency(300 * time.Millisecond)
		pause(time.Second)
		r.setLatency(time.Millisecond)
	}
	for _, f := range []rush{
		{limit: 60, processes: 16, goroutines: 1},
		{limit: 60, processes: 24, goroutines: 1},
		{limit: 60, processes: 32, goroutines: 1},
		{limit: 60, processes: 64, goroutines: 1},
		{limit: 300, processes: 64, goroutines: 4},
		{limit: 1000, processes: 64, goroutines: 4},
	} {
		t.Run(fmt.Sprintf("%d processes on %d a minute while redis is slow", f.processes, f.limit), func(t *testing.T) {
			f.minutes, f.trouble = 1, slow
			out := f.run(t)
			assert.Zero(t, out.usage.Limited)
			assert.Zero(t, out.fallbacks)
		})
	}
}

func TestLimiterAcquire_neverHeardOfRedis(t *testing.T) {
	away := func(r *testRedis) { r.down.Store(true) }
	for _, f := range []rush{
		{limit: 60, processes: 8, goroutines: 4},
		{limit: 60, processes: 32, goroutines: 1},
		{limit: 1000, processes: 64, goroutines: 4},
		{limit: 60, processes: 64, goroutines: 1, options: []Option{WithShare(64)}},
		{limit: 60, processes: 200, goroutines: 1, options: []Option{WithShare(200)}},
	} {
		t.Run(fmt.Sprintf("%d processes on %d a minute", f.processes, f.limit), func(t *testing.T) {
			f.minutes, f.trouble = 3, away
			assert.LessOrEqual(t, f.run(t).usage.Limited, 2)
		})
	}
}
