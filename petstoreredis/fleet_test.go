package petstoreredis_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
	"github.com/petstore/petstore-go/ratelimit"
)

var wholeTable = flag.Bool("table", false, "run all of OnRedisTable, which takes ten minutes of real time")

// row is one line of a table: a fleet, and what goes wrong.
type row struct {
	name                         string
	limit, processes, goroutines int
	window                       fake.Window
	brief                        bool          // runs without -table, too
	delay                        time.Duration // of each command of Redis
	drops                        int           // of a hundred commands, those that break their connection
	foreign                      time.Duration // another program makes a call so often
	during                       func(f *fleet)
}

func (r row) id() string {
	return fmt.Sprintf("%s: %d × %d on %d %v", r.name, r.processes, r.goroutines, r.limit, r.window)
}

// fleet is the processes of a row, each with a limiter and a client of Redis of its own, and what
// they work with.
type fleet struct {
	*testing.T
	row
	windows int // of requests that it makes, and half of another one, which it must begin in time
	dial    func(*link) *redis.Client
	redis   *redisServer // nil in virtual time
	service *fake.Server
	start   time.Time
	workers []*worker // that are at work
	gone    []*worker

	mu      sync.Mutex
	done    int           // responses
	elapsed time.Duration // until all had come
}

func newFleet(t *testing.T, r row, windows int) *fleet {
	t.Helper()
	return &fleet{T: t, row: r, windows: windows, service: fake.NewTestServer(t, fake.WithPlan(fake.Plan{PerMinute: r.limit}),
		fake.WithBan(5, time.Hour), fake.WithBehavior(fake.Behavior{Window: r.window}), fake.WithJournal(100_000))}
}

// worker is what would be a process.
type worker struct {
	redis         *redis.Client
	limiter       *petstoreredis.Limiter // nil of a program that has its own
	client        *petstore.Client
	toRedis, http link
	pause         time.Duration // between two calls
	ctx           context.Context
	stop          context.CancelFunc
	group         sync.WaitGroup
}

// begin begins the calls of w with a limiter.
func (f *fleet) begin(w *worker, limiter petstore.Limiter, goroutines int) {
	w.client = f.service.Client(petstore.WithLimiter(limiter), petstore.WithMaxWait(time.Hour),
		petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper { return transport{base, &w.http} }))
	w.ctx, w.stop = context.WithCancel(f.Context())
	for range goroutines {
		w.group.Go(func() { f.calls(w) })
	}
}

// hire begins n more workers with the default options.
func (f *fleet) hire(n int) {
	f.Helper()
	for range n {
		w := &worker{}
		w.toRedis.drops = f.drops
		w.toRedis.latency.Store(int64(f.delay))
		w.redis = f.dial(&w.toRedis)
		var err error
		w.limiter, err = petstoreredis.NewLimiter(w.redis, petstoreredis.WithLogger(slog.New(slog.NewTextHandler(f.Output(), nil))))
		require.NoError(f, err)
		f.workers = append(f.workers, w)
		f.begin(w, w.limiter, f.goroutines)
	}
}

// end ends the first worker, which may say what it has not said unless it is killed.
func (f *fleet) end(killed bool) {
	w := f.workers[0]
	f.workers, f.gone = f.workers[1:], append(f.gone, w)
	w.toRedis.broken.Store(killed)
	w.http.broken.Store(killed)
	w.stop()
	w.group.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = w.limiter.Flush(ctx) // Redis may be away
	_ = w.redis.Close()
}

// calls makes one call after the other.
func (f *fleet) calls(w *worker) {
	for w.ctx.Err() == nil {
		if _, err := w.client.ListPets(w.ctx, petstore.ListPetsParams{Limit: 1}); err != nil {
			wait(w.ctx, time.Second)
		} else {
			f.note()
		}
		wait(w.ctx, w.pause)
	}
}

// note counts a response.
func (f *fleet) note() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done++; f.done == f.target() {
		f.elapsed = time.Since(f.start)
	}
}

func (f *fleet) target() int { return f.limit*f.windows + f.limit/2 }

// run does the work and ends it.
func (f *fleet) run() {
	if f.foreign > 0 {
		w := &worker{pause: f.foreign}
		f.begin(w, ratelimit.New(), 1)
		defer w.group.Wait()
		defer w.stop()
	}
	f.start = time.Now()
	f.hire(f.processes)
	if f.during != nil {
		f.during(f)
	}
	f.await(f.target())
	for len(f.workers) > 0 {
		f.end(false)
	}
}

// await waits until that many responses have come, or no more can be hoped for.
func (f *fleet) await(responses int) {
	longest := time.Duration(f.windows)*time.Minute + 40*time.Second
	for f.responses() < responses && time.Since(f.start) < longest {
		wait(f.Context(), 50*time.Millisecond)
	}
}

func (f *fleet) responses() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done
}

// check compares what happened with the goals, and returns the line of the table: no 429, at least
// that share of the requests that the windows allow, and so many commands for a request of a fleet
// whose Redis is well.
func (f *fleet) check(least float64) string {
	f.Helper()
	if f.elapsed == 0 {
		f.elapsed = time.Since(f.start)
	}
	share := float64(min(f.done, f.target())) / float64(f.target()) * f.bound().Seconds() / f.elapsed.Seconds()
	commands, falls := 0, 0
	for _, w := range f.gone {
		commands, falls = commands+w.limiter.Stats().RoundTrips, falls+w.limiter.Stats().Fallbacks
	}
	perRequest, usage := float64(commands)/float64(max(1, f.done)), f.service.Usage(f.service.APIKey())
	line := fmt.Sprintf("| %s | %d | %.2f | %.1f |", f.id(), usage.Limited, share, perRequest)
	f.Log(line)
	assert.Zero(f, usage.Limited, "429s")
	assert.Zero(f, usage.BannedUntil, "the key is banned")
	assert.GreaterOrEqual(f, share, least, "share of the bound")
	if f.during == nil && f.drops == 0 {
		assert.LessOrEqual(f, perRequest, 2.2, "commands")
		assert.Zero(f, falls)
	}
	return line
}

// bound is the least time that the windows allow for the requests.
func (f *fleet) bound() time.Duration {
	callers := f.processes * f.goroutines
	rounds := (f.limit/2 + callers - 1) / callers
	return f.start.Truncate(time.Second).Sub(f.start) + time.Duration(f.windows)*time.Minute + time.Duration(rounds)*meanLatency
}
