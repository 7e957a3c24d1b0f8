package chaos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/ratelimit"
)

const (
	key     = "chaos-key-3f9b1c7e5d"
	maxBody = 64 << 10 // longest body that the clients accept, in bytes
	missing = 8        // getPet asks for ids up to 8, some of which no pet has at the beginning
)

// scenario is a service, an entry point to it and its callers, all drawn from a seed.
type scenario struct {
	seed     uint64
	entry    entryPoint
	plan     fake.Plan
	behavior fake.Behavior
	ban      int // number of requests after a 429 for which the key is banned
	skew     time.Duration
	latency  time.Duration
	clients  int // number of clients, all with one limiter
	callers  [][]*call
	changes  []change
}

// change is a new plan or a ban of the key during the run.
type change struct {
	after time.Duration // since the beginning
	plan  fake.Plan     // the new plan, if ban is 0
	ban   time.Duration // length of the ban
}

// draw draws a scenario with n calls.
func draw(seed uint64, d entryPoint, n int) *scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	trouble, callers := .05+.35*r.Float64(), 4+r.IntN(45)
	w := &scenario{seed: seed, entry: d, clients: 1 + r.IntN(3)}
	w.drawService(r, callers)
	for i := range callers {
		stream := rand.New(rand.NewPCG(seed, uint64(1+i)))
		var calls []*call
		for j := range (n + callers - 1 - i) / callers {
			calls = append(calls, drawCall(stream, trouble, fmt.Sprintf("pet %d of caller %d", j, i)))
		}
		w.callers = append(w.callers, calls)
	}
	return w
}

func (w *scenario) drawService(r *rand.Rand, callers int) {
	plan := func() fake.Plan {
		return fake.Plan{PerMinute: pick(r, 60, 300, 1000, 1000, 0), PerDay: pick(r, 0, 0, 0, 1000)}
	}
	w.plan = plan()
	w.behavior = fake.Behavior{
		RetryAfter:    pick(r, "", fake.RetryAfterDate, fake.RetryAfterAbsent),
		LimitBody:     pick(r, "", fake.BodyEmpty, fake.BodyHTML),
		DefaultStatus: pick(r, "", petstore.PetStatusPending),
		Order:         pick(r, "", fake.OrderDescending, fake.OrderShuffled),
		Window:        pick(r, "", fake.WindowAligned, fake.WindowSliding),
	}
	w.skew = upTo(r, 40*time.Minute) - 20*time.Minute
	w.latency = pick(r, 0, time.Millisecond, 80*time.Millisecond)
	// When a plan gets smaller, all requests in flight may be refused: one of each caller.
	for w.ban = 1 + r.IntN(3); chance(r, .3); w.ban = callers {
		w.changes = append(w.changes, change{
			after: upTo(r, 5*time.Minute), plan: plan(), ban: pick(r, 0, 0, 90*time.Second),
		})
	}
}

func (w *scenario) service() *fake.Server {
	return fake.NewServer(
		fake.WithKey(key, w.plan), fake.WithBehavior(w.behavior), fake.WithBan(w.ban, time.Hour),
		fake.WithClock(func() time.Time { return time.Now().Add(w.skew) }), fake.WithLatency(w.latency),
		fake.WithSeed(w.seed), fake.WithJournal(1<<20),
		fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}, petstore.NewPet{Name: "Ada", CategoryID: 2}),
	)
}

// run runs the scenario and the checks.
func (w *scenario) run(ctx context.Context, is wrong) *report {
	report := &report{scenario: w}
	srv := w.service()
	injected := inject(srv, everyKind)
	base, closeEntry := w.entry.open(srv, report)
	recorder := &recorder{base: base, origin: strings.TrimSuffix(w.entry.baseURL, "/v1"), report: report}
	clients := w.newClients(is.around(recorder), report)
	for _, ch := range w.changes {
		defer time.AfterFunc(ch.after, func() { ch.happen(srv) }).Stop()
	}
	var all sync.WaitGroup
	for i, calls := range w.callers {
		all.Go(func() {
			for _, c := range calls {
				sleep(c.pause)
				c.run(ctx, clients[i%len(clients)])
				c.waitForRetryAt()
			}
		})
	}
	all.Wait()
	closeEntry()
	srv.Close()
	if n := recorder.bodies.Load(); n != 0 {
		report.found("body", "%d are not closed", n)
	}
	report.count(srv, injected)
	report.check(srv)
	return report
}

func (w *scenario) newClients(through http.RoundTripper, report *report) []*petstore.Client {
	limiter := ratelimit.New()
	var clients []*petstore.Client
	for range w.clients {
		client, err := petstore.NewClient(w.entry.baseURL, key,
			petstore.WithHTTPClient(&http.Client{Transport: through}),
			petstore.WithLimiter(limiter),
			petstore.WithMaxResponseBytes(maxBody),
			petstore.WithLogger(slog.New(slog.NewTextHandler(logCheck{report}, &slog.HandlerOptions{Level: slog.LevelDebug}))))
		if err != nil {
			panic(err)
		}
		clients = append(clients, client)
	}
	return clients
}

func (ch change) happen(srv *fake.Server) {
	if ch.ban > 0 {
		srv.BanKey(key, ch.ban)
		return
	}
	srv.SetPlan(key, ch.plan)
}

// waitForRetryAt waits until RetryAt of the call's error, as a good caller does.
func (c *call) waitForRetryAt() {
	if limited, ok := errors.AsType[*petstore.RateLimitError](c.err); ok {
		sleep(time.Until(limited.RetryAt))
	}
}

// sleep waits for d in virtual time.
func sleep(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}
