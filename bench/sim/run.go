package sim

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/ratelimit"
)

// run is one cell: its callers, and the network between them and the service.
type run struct {
	cell

	told    bool // the programs know how many there are
	server  *fake.Server
	start   time.Time
	callers sync.WaitGroup
	strays  sync.WaitGroup // requests whose callers have gone
	sent    atomic.Int64

	mu sync.Mutex
	result
	left      int             // calls whose callers gave up
	perClient []int           // calls that each has done
	waits     []time.Duration // what each call took more than the service and the network did
	perWindow map[int64]int   // rejections
	banEnd    time.Time
	possible  int // requests that the service admits, of a fleet
}

// result is the outcome of one cell.
type result struct {
	failed, bans, rejected int
	worstWindow            int           // the largest number of rejections in a window
	ratio                  float64       // elapsed time over the bound; 0 for a load or a fleet
	share                  float64       // of the requests that the service admits, in a fleet
	fewest                 float64       // of the client that did the fewest calls, in its fair share
	p50, p99, longest      time.Duration // of the waits
}

// runCell does the calls of a cell. It must be called in a synctest bubble.
func runCell(c cell, told bool) result {
	server := fake.NewServer(
		fake.WithPlan(fake.Plan{PerMinute: c.perMinute, PerDay: c.perDay()}),
		fake.WithBan(cmp.Or(c.banAfter, 5), 5*time.Minute),
		fake.WithBehavior(fake.Behavior{Window: c.window, RetryAfter: c.retryAfter}),
		fake.WithClock(func() time.Time { return time.Now().Add(c.skew) }),
		fake.WithJournal(0),
	)
	defer server.Close()
	pause(c.phase())
	if c.planChange > 0 {
		change := func() { server.SetPlan(server.APIKey(), fake.Plan{PerMinute: c.laterPlan()}) }
		defer time.AfterFunc(c.planChange, change).Stop()
	}
	r := &run{
		cell: c, told: told, server: server, start: time.Now(),
		perWindow: map[int64]int{},
	}
	c.work(r)
	r.strays.Wait()
	return r.summary()
}

// summary completes the result.
func (r *run) summary() result {
	done := 0
	for _, n := range r.perClient {
		done += n
	}
	if done > 0 {
		r.fewest = float64(slices.Min(r.perClient)*len(r.perClient)) / float64(done)
	}
	if r.possible > 0 {
		r.share = float64(done) / float64(r.possible)
	}
	for _, n := range r.perWindow {
		r.rejected += n
		r.worstWindow = max(r.worstWindow, n)
	}
	if n := len(r.waits); n > 0 {
		slices.Sort(r.waits)
		r.p50, r.p99, r.longest = r.waits[n/2], r.waits[int(0.99*float64(n))], r.waits[n-1]
	}
	return r.result
}

const baseURL = "https://pets.example/v1"

// program is the options that the clients of one program share, with a limiter.
type program []petstore.Option

func (p program) newClient() *petstore.Client {
	client, err := petstore.NewClient(baseURL, fake.DefaultAPIKey, p...)
	if err != nil {
		panic(err) // the arguments are constants
	}
	return client
}

// newProgram returns a program as users write it. Only the calls of a job wait as long as they
// must.
func (r *run) newProgram() program {
	limiter := ratelimit.New()
	if r.told {
		limiter = ratelimit.New(ratelimit.Processes(r.clients))
	}
	p := program{petstore.WithHTTPClient(&http.Client{Transport: r}), petstore.WithLimiter(limiter)}
	switch {
	case r.noWait:
		p = append(p, petstore.WithMaxWait(0))
	case !r.once():
		p = append(p, petstore.WithMaxWait(time.Hour))
	}
	return p
}

// newClients returns the clients of the cell: of one program or, if they are unaware of each other,
// of one program each.
func (r *run) newClients() []*petstore.Client {
	shared := r.newProgram()
	clients := make([]*petstore.Client, max(1, r.clients))
	for i := range clients {
		if r.unaware {
			shared = r.newProgram()
		}
		clients[i] = shared.newClient()
	}
	return clients
}

// eachCaller runs f in the goroutines of the cell, which take the clients in turn, and waits until
// all are done. f also gets the number n of its client in clients.
func (r *run) eachCaller(clients []*petstore.Client, f func(client *petstore.Client, n int, t *trip)) {
	r.perClient = make([]int, len(clients))
	for g := range r.goroutines {
		n := g % len(clients)
		t := &trip{number: g, seed: r.seed}
		r.callers.Go(func() {
			pause(time.Duration(n)*r.apart + t.offset())
			f(clients[n], n, t)
		})
	}
	r.callers.Wait()
}

// call makes the i-th call, with the n-th client, and counts its outcome.
func (r *run) call(client *petstore.Client, n, i int, t *trip) {
	ctx, cancel := context.WithCancel(t.context())
	defer cancel()
	if d := r.impatience(i); d > 0 {
		defer time.AfterFunc(d, cancel).Stop()
	}
	start, took := time.Now(), t.took
	err := r.list(ctx, client)
	wait := time.Since(start) - (t.took - took)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.perClient[n]++
		r.waits = append(r.waits, wait)
	case errors.Is(ctx.Err(), context.Canceled):
		r.left++
	default:
		r.failed++
	}
}

// list calls listPets. The caller of a job waits until RetryAt, as a batch job does, and calls
// again.
func (c cell) list(ctx context.Context, client *petstore.Client) error {
	for {
		_, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 1}, petstore.WithCallTimeout(c.budget))
		limited, ok := errors.AsType[*petstore.RateLimitError](err)
		if c.once() || !ok || limited.RetryAt.IsZero() || ctx.Err() != nil {
			return err
		}
		if err := sleep(ctx, time.Until(limited.RetryAt)); err != nil {
			return err
		}
		if t, ok := ctx.Value(tripKey{}).(*trip); ok {
			_ = sleep(ctx, t.offset())
		}
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

// context returns a context with the trip.
func (t *trip) context() context.Context {
	return context.WithValue(context.Background(), tripKey{}, t)
}

// offset orders what callers do at one instant, by the seed, so that a run is the same twice: the
// numbers of those at work are less than the prime apart.
func (t *trip) offset() time.Duration {
	const prime = 10_007
	return time.Duration(1 + (uint64(t.number)+t.seed)*7919%prime) // below the prime
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
