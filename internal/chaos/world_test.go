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
)

const (
	key     = "chaos-key-3f9b1c7e5d"
	maxBody = 64 << 10 // of an answer, for the clients
	missing = 8        // the first id that getPet asks for in vain, for some time
)

// world is a service, a door to it and its callers, all drawn from a seed.
type world struct {
	seed     uint64
	door     door
	plan     fake.Plan
	behavior fake.Behavior
	ban      int // requests after a 429 that earn one
	skew     time.Duration
	latency  time.Duration
	clients  int // with one limiter
	callers  [][]*call
	changes  []change
}

// change is what the service's owner does to the key, some time after the beginning.
type change struct {
	after time.Duration
	plan  fake.Plan     // the new one, unless
	ban   time.Duration // it is a ban
}

// draw makes a world with n calls.
func draw(seed uint64, d door, n int) *world {
	r := rand.New(rand.NewPCG(seed, 0))
	p, trouble, callers := virtualTime, .05+.45*r.Float64(), 4+r.IntN(45)
	w := &world{seed: seed, door: d, clients: 1 + r.IntN(3)}
	if d.real {
		p, callers = realTime, 16
		w.ban = callers
	} else {
		w.drawService(r, callers)
	}
	for i := range callers {
		stream := rand.New(rand.NewPCG(seed, uint64(1+i)))
		var calls []*call
		for j := range (n + callers - 1 - i) / callers {
			calls = append(calls, drawCall(stream, p, trouble, fmt.Sprintf("pet %d of caller %d", j, i)))
		}
		w.callers = append(w.callers, calls)
	}
	return w
}

func (w *world) drawService(r *rand.Rand, callers int) {
	plan := func() fake.Plan {
		return fake.Enterprise(pick(r, 60, 300, 1000, 1000, 0), pick(r, 0, 0, 0, 1000))
	}
	w.plan = plan()
	w.behavior = fake.Behavior{
		RetryAfter:    pick(r, fake.RetryAfterSeconds, fake.RetryAfterDate, fake.RetryAfterAbsent),
		LimitBody:     pick(r, fake.BodyError, fake.BodyEmpty, fake.BodyHTML),
		DefaultStatus: pick(r, "", petstore.PetStatusPending),
		Order:         pick(r, fake.OrderAscending, fake.OrderDescending, fake.OrderShuffled),
		Window:        pick(r, fake.WindowFixed, fake.WindowAligned, fake.WindowSliding),
	}
	w.skew = upTo(r, 40*time.Minute) - 20*time.Minute
	w.latency = pick(r, 0, time.Millisecond, 80*time.Millisecond)
	// When a plan shrinks, all that are on their way may be refused.
	for w.ban = 1 + r.IntN(3); chance(r, .4); w.ban = callers {
		w.changes = append(w.changes, change{
			after: upTo(r, 5*time.Minute), plan: plan(), ban: pick(r, 0, 0, 90*time.Second),
		})
	}
}

func (w *world) service() *fake.Server {
	return fake.NewServer(
		fake.WithKey(key, w.plan), fake.WithBehavior(w.behavior), fake.WithBan(w.ban, time.Hour),
		fake.WithClock(func() time.Time { return time.Now().Add(w.skew) }), fake.WithLatency(w.latency),
		fake.WithSeed(w.seed), fake.WithJournal(1<<20),
		fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}, petstore.NewPet{Name: "Ada", CategoryID: 2}),
	)
}

// sabotage makes a client wrong: it stands between the client and the witness.
type sabotage func(http.RoundTripper) http.RoundTripper

// run lets the world happen and judges it. A wrong client is made by a sabotage, which may be nil.
func (w *world) run(ctx context.Context, wrong sabotage) *report {
	report := &report{world: w}
	srv := w.service()
	injected := inject(srv, everyKind)
	base, closeDoor := w.door.open(srv, report)
	witness := &witness{base: base, origin: strings.TrimSuffix(w.door.baseURL, "/v1"), report: report}
	clients := w.newClients(witness, wrong, report)
	for _, ch := range w.changes {
		defer time.AfterFunc(ch.after, func() { ch.happen(srv) }).Stop()
	}
	var all sync.WaitGroup
	for i, calls := range w.callers {
		all.Go(func() {
			for _, c := range calls {
				rest(c.pause)
				c.run(ctx, clients[i%len(clients)])
				w.comeBack(c)
			}
		})
	}
	all.Wait()
	closeDoor()
	srv.Close()
	if n := witness.bodies.Load(); n != 0 {
		report.found("body", "%d are not closed", n)
	}
	report.count(srv, injected)
	report.judge(srv)
	return report
}

func (w *world) newClients(witness http.RoundTripper, wrong sabotage, report *report) []*petstore.Client {
	limiter := petstore.NewLimiter()
	if wrong != nil {
		witness = wrong(witness)
	}
	var clients []*petstore.Client
	for range w.clients {
		client, err := petstore.NewClient(w.door.baseURL, key,
			petstore.WithHTTPClient(&http.Client{Transport: witness}),
			petstore.WithLimiter(limiter),
			petstore.WithMaxResponseBytes(maxBody),
			petstore.WithLogger(slog.New(slog.NewTextHandler(ear{report}, &slog.HandlerOptions{Level: slog.LevelDebug}))))
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

// comeBack waits, as a good caller does, until the error of a call says.
func (w *world) comeBack(c *call) {
	if limited, ok := errors.AsType[*petstore.RateLimitError](c.err); ok && !w.door.real {
		rest(time.Until(limited.RetryAt))
	}
}

// rest lets time pass.
func rest(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}
