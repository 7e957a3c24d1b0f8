package sim

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// result is the outcome of one contender in one cell.
type result struct {
	done, failed int
	left         int // calls whose callers gave up
	elapsed      time.Duration
	bound        time.Duration // for all items of a job but those left; 0 for a load
	night        time.Duration // in which the day's quota is used up
	perClient    []int         // calls that each has done
	share        float64       // of the requests that the service admits, in a fleet
	// waits is what each call took more than the service and the network did, sorted.
	waits []time.Duration
	record
}

// fewest is the share of the client that did the fewest calls, in its fair share.
func (r *result) fewest() float64 {
	if len(r.perClient) == 0 || r.done == 0 {
		return 0
	}
	return float64(slices.Min(r.perClient)*len(r.perClient)) / float64(r.done)
}

// ratio is how much longer a job took than the bound, without the night.
func (r *result) ratio() float64 {
	if r.bound == 0 {
		return 0
	}
	return max(0, r.elapsed-r.night).Seconds() / (r.bound - r.night).Seconds()
}

// quantile returns the wait that a part q of all calls does not exceed.
func (r *result) quantile(q float64) time.Duration {
	if len(r.waits) == 0 {
		return 0
	}
	return r.waits[min(len(r.waits)-1, int(q*float64(len(r.waits))))]
}

// worstWindow is the largest number of rejections in a window.
func (r *result) worstWindow() int {
	worst := 0
	for _, n := range r.perWindow {
		worst = max(worst, n)
	}
	return worst
}

// newServer returns the service as the cell has it.
func (c cell) newServer() *fake.Server {
	skew := c.condition.skew
	return fake.NewServer(
		fake.WithPlan(c.plan()),
		c.condition.ban(),
		fake.WithBehavior(fake.Behavior{Window: c.window, RetryAfter: c.condition.retryAfter}),
		fake.WithClock(func() time.Time { return time.Now().Add(skew) }),
		fake.WithJournal(0),
	)
}

// run has a contender do the calls of a cell. It must be called in a synctest bubble.
func run(c cell, k contender) result {
	server := c.newServer()
	defer server.Close()
	_ = sleep(context.Background(), c.phase()) // a context that never ends
	begin := server.Now()
	l := newLink(c, server)
	if at := c.condition.planChange; at > 0 {
		change := time.AfterFunc(at, func() { server.SetPlan(server.APIKey(), fake.Enterprise(c.laterPlan(), 0)) })
		defer change.Stop()
	}
	r := &runner{cell: c}
	newClients := func(n int) []client { return k.clients(c, l, n) }
	start := l.start
	switch {
	case c.load.percent > 0:
		r.doLoad(newClients)
	case c.fleet.running:
		r.doFleet(newClients(c.condition.clients))
	case c.burst.calls > 0:
		start = r.doBurst(newClients)
		r.bound = c.unlimited()
	default:
		r.doJob(newClients(max(1, c.condition.clients)))
		r.bound = c.bound(begin, c.items()-r.left)
		if c.condition.shortDay {
			r.night = 24*time.Hour - 3*time.Minute
		}
	}
	r.elapsed = time.Since(start)
	l.strays.Wait()
	r.record = l.record
	slices.Sort(r.waits)
	return r.result
}

// runner makes the calls of one run.
type runner struct {
	cell  cell
	group sync.WaitGroup

	mu sync.Mutex
	result
}

// doJob has goroutines share the items of the job.
func (r *runner) doJob(clients []client) {
	r.perClient = make([]int, len(clients))
	var next atomic.Int64
	for g := range r.cell.goroutines {
		n := g % len(clients)
		t := &trip{number: g, seed: r.cell.seed}
		r.group.Go(func() {
			_ = sleep(context.Background(), t.offset())
			for i := int(next.Add(1) - 1); i < r.cell.items(); i = int(next.Add(1) - 1) {
				r.call(clients[n], n, i, t)
			}
		})
	}
	r.group.Wait()
}

// doLoad has programs start batches of calls at random, on average as often as their part of the
// load allows.
func (r *runner) doLoad(newClients func(n int) []client) {
	load, end := r.cell.load, time.Now().Add(loadTime)
	r.perClient = make([]int, load.programs)
	for p := range load.programs {
		r.group.Go(func() {
			rng := rand.New(rand.NewPCG(r.cell.seed, math.MaxUint64-uint64(p))) //nolint:gosec // any bits will do
			shared := newClients(1)[0]
			for n := p; ; n += load.programs {
				_ = sleep(context.Background(), time.Duration((0.5+rng.Float64())*r.cell.batchEvery()))
				if time.Now().After(end) {
					return
				}
				if load.short {
					r.group.Go(func() { r.calls(newClients(1)[0], p, n*load.batch, load.batch) })
					continue
				}
				for i := range load.batch {
					r.group.Go(func() { r.calls(shared, p, n*load.batch+i, 1) })
				}
			}
		})
	}
	r.group.Wait()
}

// calls makes n calls of a load one after the other. No two calls begin at one instant.
func (r *runner) calls(c client, program, first, n int) {
	for i := range n {
		t := &trip{number: first + i, seed: r.cell.seed}
		_ = sleep(context.Background(), t.offset())
		r.call(c, program, first+i, t)
	}
}

// call makes the i-th call, with the n-th client, and counts its outcome.
func (r *runner) call(c client, n, i int, t *trip) {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), tripKey{}, t))
	defer cancel()
	if d := r.cell.burst.budget; d > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, d)
		defer end()
	}
	if d := r.cell.impatience(i); d > 0 {
		defer time.AfterFunc(d, cancel).Stop()
	}
	start, took := time.Now(), t.took
	err := c.list(ctx)
	wait := time.Since(start) - (t.took - took)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.done++
		r.perClient[n]++
		r.waits = append(r.waits, wait)
	case ctx.Err() != nil && r.cell.burst.calls == 0:
		r.left++
	default:
		r.failed++
	}
}

// tripKey is the context's key for a *trip.
type tripKey struct{}

// trip is what the network notes about the calls of one caller.
type trip struct {
	number int
	seed   uint64
	took   time.Duration // on the network and in the service
}

// offset orders what callers do at one instant, by the seed, so that a run is the same twice: the
// numbers of those at work are less than the prime apart.
func (t *trip) offset() time.Duration {
	const prime = 10_007
	return time.Duration(1 + (uint64(t.number)+t.seed)*7919%prime) //nolint:gosec // below the prime
}
