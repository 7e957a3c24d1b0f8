package petstoreredis_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
	"github.com/petstore/petstore-go/ratelimit"
)

var wholeTable = flag.Bool("table", false, "run all of OnRedisTable, which takes ten minutes of real time")

func TestMain(m *testing.M) {
	logging.Disable() // of go-redis, which writes to standard error
	goleak.VerifyTestMain(m)
}

// row is one line of a table: a fleet, what goes wrong, and what must hold.
type row struct {
	name                         string
	limit, processes, goroutines int
	window                       fake.Window
	brief                        bool          // runs without -table, too
	delay                        time.Duration // of each command of Redis
	drops                        int           // of a hundred commands, those that break their connection
	foreign                      time.Duration // another program makes a call so often
	during                       func(f *fleet)

	limited         int     // 429s at most
	share, fairness float64 // at least; 0 if it does not matter
	trips           float64 // to Redis for a request, at most; 0 if it does not matter
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

	mu      sync.Mutex
	gone    []*worker
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
	id            string
	redis         *redis.Client
	limiter       *petstoreredis.Limiter // nil of a program that has its own
	client        *petstore.Client
	toRedis, http link
	pause         time.Duration // between two calls
	stop          context.CancelFunc
	group         sync.WaitGroup
	done          int // responses in whole windows
}

// newWorker returns a worker with the default options.
func (f *fleet) newWorker() *worker {
	w := &worker{id: fmt.Sprint(len(f.workers) + len(f.gone))}
	w.toRedis.drops = f.drops
	w.toRedis.latency.Store(int64(f.delay))
	return w
}

// begin begins the calls of w with a limiter.
func (f *fleet) begin(w *worker, limiter petstore.Limiter, goroutines int) {
	w.client = f.service.Client(petstore.WithLimiter(limiter), petstore.WithMaxWait(time.Hour), petstore.WithHeader("X-Worker", w.id),
		petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper { return transport{base, &w.http} }))
	ctx, stop := context.WithCancel(f.Context())
	w.stop = stop
	for range goroutines {
		w.group.Go(func() { f.calls(ctx, w) })
	}
}

// hire begins n more workers.
func (f *fleet) hire(n int) {
	f.Helper()
	for range n {
		w := f.newWorker()
		w.redis = f.dial(&w.toRedis)
		var err error
		w.limiter, err = petstoreredis.NewLimiter(w.redis,
			petstoreredis.WithLogger(slog.New(slog.NewTextHandler(f.Output(), nil)).With("worker", w.id)))
		require.NoError(f, err)
		f.workers = append(f.workers, w)
		f.begin(w, w.limiter, f.goroutines)
	}
}

// pop returns the first worker, which ends now.
func (f *fleet) pop() *worker {
	w := f.workers[0]
	f.workers = f.workers[1:]
	f.gone = append(f.gone, w)
	return w
}

// dismiss has the first worker end its work.
func (f *fleet) dismiss() {
	w := f.pop()
	w.stop()
	w.group.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = w.limiter.Flush(ctx) // Redis may be away
	_ = w.redis.Close()
}

// kill ends the first worker without giving it time to say anything.
func (f *fleet) kill() {
	w := f.pop()
	w.toRedis.broken.Store(true)
	w.http.broken.Store(true)
	w.stop()
	w.group.Wait()
	_ = w.redis.Close()
}

// calls makes one call after the other.
func (f *fleet) calls(ctx context.Context, w *worker) {
	for ctx.Err() == nil {
		if _, err := w.client.ListPets(ctx, petstore.ListPetsParams{Limit: 1}); err != nil {
			wait(ctx, time.Second)
		} else {
			f.note(w)
		}
		wait(ctx, w.pause)
	}
}

// note counts a response.
func (f *fleet) note(w *worker) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done++; f.done <= f.windows*f.limit {
		w.done++
	}
	if f.done == f.target() {
		f.elapsed = time.Since(f.start)
	}
}

func (f *fleet) target() int { return f.limit*f.windows + f.limit/2 }

// run does the work and ends it.
func (f *fleet) run() {
	if f.foreign > 0 {
		w := f.newWorker()
		w.pause = f.foreign
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
		f.dismiss()
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

// check compares what happened with the goals, and returns the line of the table.
func (f *fleet) check() string {
	f.Helper()
	if f.elapsed == 0 {
		f.elapsed = time.Since(f.start)
	}
	done := min(f.done, f.target())
	share := float64(done) / float64(f.target()) * f.bound().Seconds() / f.elapsed.Seconds()
	trips, falls := 0, 0
	for _, w := range f.gone {
		trips, falls = trips+w.limiter.Stats().RoundTrips, falls+w.limiter.Stats().Fallbacks
	}
	perRequest, fairness, usage := float64(trips)/float64(max(1, f.done)), f.leastToMean(), f.service.Usage(f.service.APIKey())
	line := fmt.Sprintf("| %s | %d | %.2f | %.2f | %.2f | %d |", f.id(), usage.Limited, share, fairness, perRequest, falls)
	f.Log(line)
	assert.LessOrEqual(f, usage.Limited, f.limited, "429s")
	assert.Zero(f, usage.BannedUntil, "the key is banned")
	assert.GreaterOrEqual(f, share, f.share, "share of the bound")
	assert.GreaterOrEqual(f, fairness, f.fairness, "least to mean")
	if f.trips > 0 {
		assert.LessOrEqual(f, perRequest, f.trips, "round trips")
		assert.Zero(f, falls)
	}
	for _, r := range f.service.Requests() {
		if r.StatusCode == http.StatusTooManyRequests {
			f.Logf("429 after %v to worker %s", r.Time.Sub(f.start), r.Header.Get("X-Worker"))
		}
	}
	return line
}

// leastToMean compares what the processes got of the whole windows. It is 0 if processes came and
// went.
func (f *fleet) leastToMean() float64 {
	if len(f.gone) > f.processes {
		return 0
	}
	least := slices.MinFunc(f.gone, func(a, b *worker) int { return a.done - b.done }).done
	return float64(least*f.processes) / float64(max(1, min(f.done, f.windows*f.limit)))
}

// bound is the least time that the windows allow for the requests.
func (f *fleet) bound() time.Duration {
	callers := f.processes * f.goroutines
	rounds := (f.limit/2 + callers - 1) / callers
	return f.start.Truncate(time.Second).Sub(f.start) + time.Duration(f.windows)*time.Minute + time.Duration(rounds)*meanLatency
}
