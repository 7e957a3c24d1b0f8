// Package sim runs the client against package fake, in virtual time, while the service or the
// network is not as the document says. It tests client and fake as a whole; package ratelimit has
// simulations of the limiter alone.
//
// A run is a job of four and a half windows. Latencies and faults depend on a seed and the number
// of the request, not on the clock or the goroutine, so that a run gives the same figures every
// time.
package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// cell is one situation.
type cell struct {
	condition
	window     fake.Window
	perMinute  int
	goroutines int
	seed       uint64
}

// cells has each condition with each window, two plans, and few and many goroutines.
func cells(seed uint64) []cell {
	var all []cell
	for _, k := range conditions() {
		for _, window := range []fake.Window{"", fake.WindowAligned, fake.WindowSliding} {
			for _, perMinute := range []int{60, 300} {
				for _, goroutines := range []int{8, 128} {
					all = append(all, cell{k, window, perMinute, goroutines, seed})
				}
			}
		}
	}
	return all
}

// String names the cell, for -run.
func (c cell) String() string {
	return fmt.Sprintf("%s_%s_%d_%d", c.name, cmp.Or(c.window, "fixed"), c.perMinute, c.goroutines)
}

// result is the outcome of a cell.
type result struct {
	calls, failed  int
	rejected, bans int
	// ratio is the time that the job took, divided by the time until the service has room for the last
	// request. The last requests take time of their own, which is longer with few goroutines.
	ratio float64
}

// run is a cell that runs now.
type run struct {
	cell

	server *fake.Server
	sent   atomic.Int64
	strays sync.WaitGroup // requests whose callers have gone

	mu sync.Mutex
	result
	banEnd time.Time
}

// runCell does the calls of a cell. It must be called in a synctest bubble.
func runCell(c cell) result {
	const hurry = 5 // further requests that ban the key
	server := fake.NewServer(
		fake.WithPlan(fake.Plan{PerMinute: c.perMinute, PerDay: c.dayWindows * c.perMinute}),
		fake.WithBan(hurry, 5*time.Minute),
		fake.WithBehavior(fake.Behavior{Window: c.window, RetryAfter: c.retryAfter}),
		fake.WithClock(func() time.Time { return time.Now().Add(c.skew) }),
		fake.WithJournal(0),
	)
	defer server.Close()
	pause(c.phase())
	r := &run{cell: c, server: server}
	if c.planChange > 0 {
		change := func() { server.SetPlan(server.APIKey(), fake.Plan{PerMinute: c.perMinute * 2}) }
		defer time.AfterFunc(c.planChange, change).Stop()
	}
	start := time.Now()
	r.work()
	elapsed := time.Since(start)
	r.strays.Wait()
	r.ratio = elapsed.Seconds() / c.opens(start).Sub(start).Seconds()
	return r.result
}

// work has the goroutines share the calls of the job.
func (r *run) work() {
	var next atomic.Int64
	var callers sync.WaitGroup
	client := r.newClient()
	for g := range r.goroutines {
		callers.Go(func() {
			pause(r.offset(g))
			for i := int(next.Add(1)); i <= r.items(); i = int(next.Add(1)) {
				r.call(client, g, i)
			}
		})
	}
	callers.Wait()
}

// items is the number of calls, which fill four and a half windows.
func (c cell) items() int { return c.perMinute * 9 / 2 }

// newClient returns a client that waits as long as it must.
func (r *run) newClient() *petstore.Client {
	client, err := petstore.NewClient("https://pets.example/v1", fake.DefaultAPIKey,
		petstore.WithHTTPClient(&http.Client{Transport: r}), petstore.WithMaxWait(time.Hour))
	if err != nil {
		panic(err) // the arguments are constants
	}
	return client
}

// call makes the i-th call of the job. As a batch job does, it waits until RetryAt if it is
// refused, and calls again.
func (r *run) call(client *petstore.Client, g, i int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if d := r.impatience(i); d > 0 {
		defer time.AfterFunc(d, cancel).Stop()
	}
	var err error
	for {
		_, err = client.ListPets(context.WithValue(ctx, callerKey{}, g), petstore.ListPetsParams{Limit: 1})
		limited, ok := errors.AsType[*petstore.RateLimitError](err)
		if !ok || limited.RetryAt.IsZero() || sleep(ctx, time.Until(limited.RetryAt)+r.offset(g)) != nil {
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if err != nil && ctx.Err() == nil {
		r.failed++
	}
}

// callerKey is the context's key for the number of the goroutine.
type callerKey struct{}

// offset is a small delay for each goroutine. Without it, goroutines would act at the same instant
// and in any order, and two runs would differ.
func (c cell) offset(g int) time.Duration {
	const prime = 10_007
	return time.Duration(1 + (uint64(g)+c.seed)*7919%prime) // different for each goroutine
}

// opens returns when the service has room for the last calls. The first window may have begun up to
// a second before the first request, or with the minute or the day of the clock.
func (c cell) opens(start time.Time) time.Time {
	grain := time.Second
	if c.window == fake.WindowAligned {
		grain = time.Minute
	}
	const windows = 4 // the job needs four and a half
	switch begin := start.Add(c.skew).Truncate(grain).Add(-c.skew); {
	case c.dayWindows == 0:
		return begin.Add(windows * time.Minute)
	case c.window == fake.WindowAligned:
		return start.Truncate(24 * time.Hour).Add(24 * time.Hour).Add(time.Minute)
	default:
		return begin.Add(24*time.Hour + time.Duration(windows-c.dayWindows)*time.Minute)
	}
}

// chance returns the random numbers for the i-th decision.
func (c cell) chance(i int) *rand.Rand { return rand.New(rand.NewPCG(c.seed, uint64(i))) }

// phase is how far into a minute the run begins.
func (c cell) phase() time.Duration {
	return time.Duration(c.chance(-1).Int64N(int64(20 * time.Second)))
}

// impatience returns after how long the caller of the i-th call gives up, 0 for never.
func (c cell) impatience(i int) time.Duration {
	r := c.chance(-1 - i)
	if r.Float64() >= c.cancels {
		return 0
	}
	return time.Duration(1 + r.Int64N(int64(90*time.Second)))
}

// sleep waits for d, unless ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pause waits for d.
func pause(d time.Duration) { <-time.After(d) }
