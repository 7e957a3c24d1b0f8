package petstoreredis_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
)

// row is a fleet, and what goes wrong with it. docs/scaling.md has a table of the results.
type row struct {
	name       string
	processes  int // 8 by default
	goroutines int // of each process, 4 by default
	limit      int // requests a minute, 300 by default
	windows    int // how many, 2 by default
	window     fake.WindowKind
	service    time.Duration // how long each request takes; 0: 20 to 200 ms
	delay      time.Duration // of each command to Redis
	drops      int           // percentage of commands that break their connection
	jump       time.Duration // how far the clock of Redis jumps, after 90 s
	during     func(f *fleet)
	share      float64 // at least this: shortest possible time, divided by time taken; 0.95 by default
	got429s    int     // at most so many; above 0 if processes send before they can know of others
	evals      float64 // at most so many commands for each request; 0: any number, since Redis fails
	least      float64 // at least this: fewest requests of a process in a window, divided by the mean
	short      bool    // runs in virtual time with -short, too
	onRedis    bool    // runs on a real Redis, too
}

func rows() []row {
	const slow = 600 * time.Millisecond
	fast := 30 * time.Millisecond
	return []row{
		{name: "healthy", goroutines: 8, evals: 1.2, least: 0.7, windows: 5, short: true, onRedis: true},
		{name: "a fast service", goroutines: 8, service: fast, evals: 0.6, least: 0.7, windows: 5},
		{name: "a fast service", processes: 16, service: fast, evals: 2, least: 0.7, windows: 5},
		{name: "a fast service", processes: 4, limit: 60, service: fast, evals: 2, least: 0.7, windows: 5, short: true},
		{name: "a fast service", processes: 4, goroutines: 8, limit: 60, service: fast, evals: 2, least: 0.7, windows: 5},
		{name: "healthy", processes: 2, limit: 60, evals: 2, short: true},
		{name: "healthy", processes: 64, evals: 2.2},
		{name: "healthy", processes: 32, limit: 1000, evals: 2},
		{name: "minutes of the clock", window: fake.WindowAligned, evals: 2},
		{name: "windows that slide", window: fake.WindowSliding, evals: 2},
		{name: "50 ms away, 1 % of commands break their connection", delay: 50 * time.Millisecond, drops: 1},
		{name: "commands take 0.6 s", processes: 64, delay: slow, share: 0.93, evals: 2.2},
		{name: "commands take 0.6 s", processes: 16, goroutines: 1, limit: 60, delay: slow, share: 0.93, evals: 2.2},
		{name: "away with half of a window left, then empty", short: true, onRedis: true, during: func(f *fleet) {
			f.cut(f.limit/2, broken, f.minute/6, true)
		}},
		{name: "away with a window used up", during: func(f *fleet) { f.cut(f.limit, broken, f.minute/3, false) }},
		{name: "no replies", short: true, during: func(f *fleet) { f.cut(f.limit/2, silent, f.minute/3, false) }},
		{name: "no replies", processes: 64, during: func(f *fleet) { f.cut(f.limit/2, silent, f.minute/3, false) }},
		{name: "flushed again and again", during: flushed},
		{name: "killed and started cold, twice in a window", during: restartedTwice},
		{name: "killed and started cold, twice in a window", processes: 64, during: restartedTwice, got429s: 1},
		{name: "the clock of Redis goes back", short: true, processes: 4, limit: 20, windows: 5, jump: -time.Hour},
		{name: "the clock of Redis goes forward", short: true, processes: 4, limit: 20, windows: 5, jump: time.Hour},
		{name: "rolling restart in mid-window", goroutines: 1, short: true, onRedis: true, during: rolling},
		{name: "a process beside that was not told takes a third", during: beside, got429s: 2},
	}
}

// fleet is the processes of a row, and what they work with. Each process has a limiter and a client
// of Redis of its own. Together they fill the windows of the row, and half a window more.
type fleet struct {
	*testing.T
	row
	minute  time.Duration
	dial    func(k *link) *redis.Client
	server  *fake.Server
	start   time.Time
	workers []*worker // those at work
	gone    []*worker
	done    atomic.Int64 // responses
}

func TestFleets(t *testing.T) {
	run(t, func(r row) bool { return r.short || !testing.Short() }, func(f *fleet) {
		bubble(f.T, func(t *testing.T, v *virtualRedis) {
			f.T, f.minute = t, time.Minute
			f.dial = func(k *link) *redis.Client {
				k.before = v.before
				k.latency.Add(int64(time.Millisecond))
				return newClient(t, v.Addr(), k)
			}
			time.AfterFunc(90*time.Second, func() { v.ahead.Store(int64(f.jump)) })
			f.run()
		})
	})
}

// TestOnRedisFleets runs a few rows on a real Redis, for one window of fifteen seconds.
func TestOnRedisFleets(t *testing.T) {
	t.Parallel()
	run(t, func(r row) bool { return r.onRedis }, func(f *fleet) {
		address := startRedis(f.T)
		f.dial = func(k *link) *redis.Client { return newClient(f, address, k) }
		f.windows, f.minute, f.share = 1, 15*time.Second, 0.75 // rounding to seconds costs much of a short window
		f.run()
	})
}

func run(t *testing.T, chosen func(r row) bool, test func(f *fleet)) {
	t.Helper()
	for _, r := range rows() {
		r.processes, r.goroutines, r.limit = cmp.Or(r.processes, 8), cmp.Or(r.goroutines, 4), cmp.Or(r.limit, 300)
		r.windows, r.share = cmp.Or(r.windows, 2), cmp.Or(r.share, 0.95)
		if chosen(r) {
			t.Run(fmt.Sprintf("%s: %d × %d on %d", r.name, r.processes, r.goroutines, r.limit), func(t *testing.T) {
				t.Parallel()
				test(&fleet{T: t, row: r})
			})
		}
	}
}

func (f *fleet) run() {
	f.Helper()
	f.server = fake.NewTestServer(f, fake.WithPlan(fake.Plan{PerMinute: f.limit}), fake.WithMinute(f.minute),
		fake.WithBan(5, time.Hour), fake.WithBehavior(fake.Behavior{Window: f.window}))
	f.start = time.Now()
	f.hire(f.processes)
	if f.during != nil {
		f.during(f)
	}
	f.await(f.target())
	took := time.Since(f.start)
	for len(f.workers) > 0 {
		f.end(false)
	}
	f.check(took)
}

// check compares the results with the goals: 429s; the share of the possible requests; the requests
// of each process, compared with the mean; and, if Redis is well, the number of commands.
func (f *fleet) check(took time.Duration) {
	f.Helper()
	least, evals := math.Inf(1), int64(0)
	for _, w := range f.gone {
		evals += w.toRedis.evals.Load()
		for window := range f.windows {
			least = min(least, float64(w.got[window].Load())*float64(f.processes)/float64(f.limit))
		}
	}
	done := float64(f.done.Load())
	share := min(done/float64(f.target()), 1) * f.bound().Seconds() / took.Seconds()
	perRequest, usage := float64(evals)/max(1, done), f.server.Usage(f.server.APIKey())
	f.Logf("429s: %d, share: %.2f, least: %.2f of the mean, commands for each request: %.2f",
		usage.Limited, share, least, perRequest)
	assert.LessOrEqual(f, usage.Limited, f.got429s, "429s")
	assert.GreaterOrEqual(f, share, f.share, "share of the bound")
	assert.GreaterOrEqual(f, least, f.least, "share of the mean")
	assert.LessOrEqual(f, perRequest, cmp.Or(f.evals, math.Inf(1)), "commands")
}

func (f *fleet) target() int { return f.limit*f.windows + f.limit/2 }

// bound returns the shortest time in which the windows allow the requests.
func (f *fleet) bound() time.Duration {
	callers := f.processes * f.goroutines
	rounds := (f.limit/2 + callers - 1) / callers
	end := f.start.Truncate(time.Second).Add(time.Duration(f.windows) * f.minute)
	return end.Sub(f.start) + time.Duration(rounds)*110*time.Millisecond
}

// lacks reports whether fewer responses than these have come, and there is time for more.
func (f *fleet) lacks(responses int) bool {
	return int(f.done.Load()) < responses && time.Since(f.start) < time.Duration(f.windows)*f.minute+40*time.Second
}

func (f *fleet) await(responses int) {
	for f.lacks(responses) {
		wait(f.Context(), 50*time.Millisecond)
	}
}

type worker struct {
	limiter *petstoreredis.Limiter
	toRedis link
	ctx     context.Context
	stop    context.CancelFunc
	group   sync.WaitGroup
	got     [6]atomic.Int64 // responses in each window, and after the last
}

// transport makes each request take the latency or, if that is 0, 20 to 200 ms.
type transport struct {
	http.RoundTripper
	latency time.Duration
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	half := cmp.Or(t.latency/2, 10*time.Millisecond+rand.N(90*time.Millisecond))
	time.Sleep(half)
	defer time.Sleep(half)
	return t.RoundTripper.RoundTrip(r)
}

// hire begins n more workers with the default options.
func (f *fleet) hire(n int) {
	f.Helper()
	for range n {
		w := &worker{toRedis: link{drops: f.drops}}
		w.toRedis.latency.Store(int64(f.delay))
		var err error
		w.limiter, err = petstoreredis.NewLimiter(f.dial(&w.toRedis),
			petstoreredis.WithLogger(slog.New(slog.NewTextHandler(f.Output(), nil))))
		require.NoError(f, err)
		client := f.server.Client(petstore.WithLimiter(w.limiter),
			petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper { return transport{base, f.service} }))
		w.ctx, w.stop = context.WithCancel(f.Context())
		f.workers = append(f.workers, w)
		for range f.goroutines {
			w.group.Go(func() { f.calls(w, client) })
		}
	}
}

// end ends the first worker. Unless it is killed, it may still report its last outcomes.
func (f *fleet) end(killed bool) {
	w := f.workers[0]
	f.workers, f.gone = f.workers[1:], append(f.gone, w)
	w.toRedis.broken.Store(killed)
	w.stop()
	w.group.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = w.limiter.Flush(ctx) // Redis may be away
}

func (f *fleet) calls(w *worker, client *petstore.Client) {
	for w.ctx.Err() == nil {
		_, err := client.ListPets(w.ctx, petstore.ListPetsParams{Limit: 1})
		switch window := int(time.Since(f.start) / f.minute); {
		case err == nil:
			w.got[min(window, len(w.got)-1)].Add(1)
			f.done.Add(1)
		case w.ctx.Err() == nil:
			assert.Zero(f, f.least, "refused: %v", err)
			wait(w.ctx, time.Second)
		}
	}
}

// beside is a program that does not share the limiter, and takes a third of the requests.
func beside(f *fleet) {
	for client := f.server.Client(); f.lacks(f.target()); wait(f.Context(), 450*time.Millisecond) {
		if _, err := client.ListPets(f.Context(), petstore.ListPetsParams{}); err == nil {
			f.done.Add(1)
		}
	}
}

// cut waits for that many responses. Then, for d, the workers cannot connect to Redis or get no
// replies. If empty is true, Redis loses all its data before they can connect again.
func (f *fleet) cut(responses int, off func(k *link) *atomic.Bool, d time.Duration, empty bool) {
	f.await(responses)
	for _, w := range f.workers {
		off(&w.toRedis).Store(true)
		defer off(&w.toRedis).Store(false)
	}
	wait(f.Context(), d)
	if empty {
		f.flush()
	}
}

func broken(k *link) *atomic.Bool { return &k.broken }
func silent(k *link) *atomic.Bool { return &k.silent }

func (f *fleet) flush() { require.NoError(f, f.dial(&link{}).FlushAll(f.Context()).Err()) }

func flushed(f *fleet) {
	for range 18 {
		wait(f.Context(), 5*time.Second)
		f.flush()
	}
}

// restartedTwice kills the whole fleet in the middle of a window and starts it again, two times:
// the first time the pot is still in Redis, the second time it has been deleted.
func restartedTwice(f *fleet) {
	for i, used := range []int{f.limit / 3, f.limit * 2 / 3} {
		f.await(used)
		for len(f.workers) > 0 {
			f.end(true)
		}
		if i == 1 {
			f.flush()
		}
		f.hire(f.processes)
	}
}

// rolling replaces one process after the other. Every second process is killed, the others are told
// to stop.
func rolling(f *fleet) {
	for i := range f.processes {
		f.await(f.limit * (i + 1) / 6)
		f.hire(1)
		f.end(i%2 > 0)
	}
}
