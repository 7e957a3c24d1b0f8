// Package chaos has only tests: calls of package petstore, drawn from a seed, meet every failure
// that package fake can inject. The tests check that each call has the right outcome: no created
// pet is lost, none is created twice, and no error claims more than its caller can know.
//
// A scenario is one run: a service with its plan, windows, clock and behaviour, an entry point to
// it, and callers that share one limiter. All of it is drawn from the seed before the run: the
// operation of each call, the failure of each of its requests, and when its caller gives up. Only
// the order of the goroutines and the jitter of the client's backoff are random. After the run, the
// checks compare the results of the calls with the pets and the journal of the service.
//
//	go test ./internal/chaos                                  a few thousand calls
//	PETSTORE_CHAOS=100000 go test -v ./internal/chaos         that many calls, with figures
//	PETSTORE_SEED=7 go test -run Chaos -v ./internal/chaos    the scenarios of one seed again
package chaos

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/ratelimit"
)

const (
	callsOfScenario = 500
	usualCalls      = 5 * callsOfScenario

	key     = "chaos-key-3f9b1c7e5d"
	maxBody = 64 << 10 // longest body that the clients accept, in bytes
	missing = 8        // getPet asks for ids up to 8, some of which no pet has at the beginning
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChaosInMemory(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	for _, seed := range seeds(t) {
		s := draw(seed, callsOfScenario)
		t.Run(fmt.Sprintf("seed %d, %s", seed, s.protocol), func(t *testing.T) {
			var r *report
			synctest.Test(t, func(t *testing.T) { r = s.run(t) })
			assert.Emptyf(t, r.findings[:min(len(r.findings), 10)],
				"%d findings; once more: PETSTORE_SEED=%d go test -count=1 -run Chaos ./internal/chaos", len(r.findings), seed)
			for name, n := range r.counts {
				counts[name] += n
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%8d  %s", counts[name], name)
	}
	if counts["calls"] < usualCalls { // a run this short may lack any kind of call
		return
	}
	done := 0 // if no call succeeded, no rule about successes could be broken
	for _, o := range fake.Operations() {
		assert.Positive(t, counts[o.Name+" done"], "calls of %s that succeeded: see ask in call_test.go", o.Name)
		done += counts[o.Name+" done"]
	}
	assert.GreaterOrEqual(t, 2*done, counts["calls"], "half of the calls succeed")
	for _, k := range kinds {
		assert.Positive(t, counts["met "+k.name], "requests that met %q", k.name)
	}
}

// seeds returns the seeds of the scenarios: PETSTORE_SEED, or as many as the number of calls in
// PETSTORE_CHAOS needs.
func seeds(t *testing.T) (all []uint64) {
	t.Helper()
	if s := os.Getenv("PETSTORE_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err, "PETSTORE_SEED")
		return []uint64{seed}
	}
	calls, err := strconv.Atoi(cmp.Or(os.Getenv("PETSTORE_CHAOS"), strconv.Itoa(usualCalls)))
	require.NoError(t, err, "PETSTORE_CHAOS")
	for seed := range uint64((calls + callsOfScenario - 1) / callsOfScenario) {
		all = append(all, seed)
	}
	return all
}

func TestChaosDrawsTheSameFromTheSameSeed(t *testing.T) {
	t.Parallel()
	assert.Equal(t, draw(7, 500).callers, draw(7, 500).callers)
	assert.NotEqual(t, draw(7, 500).callers, draw(8, 500).callers)
}

// scenario is a service, an entry point to it and its callers, all drawn from a seed.
type scenario struct {
	seed     uint64
	protocol string // of its entry point
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
func draw(seed uint64, n int) *scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	trouble, callers := .05+.35*r.Float64(), 4+r.IntN(45)
	plan := func() fake.Plan {
		return fake.Plan{PerMinute: pick(r, 60, 300, 1000, 1000, 0), PerDay: pick(r, 0, 0, 0, 1000)}
	}
	s := &scenario{seed: seed, clients: 1 + r.IntN(3), plan: plan()}
	s.protocol = []string{"memory", "HTTP/1.1", "HTTP/2"}[seed%3]
	s.behavior = fake.Behavior{
		RetryAfter:    pick(r, "", fake.RetryAfterDate, fake.RetryAfterAbsent),
		LimitBody:     pick(r, "", fake.BodyEmpty, fake.BodyHTML),
		DefaultStatus: pick(r, "", petstore.PetStatusPending),
		Order:         pick(r, "", fake.OrderDescending, fake.OrderShuffled),
		Window:        pick(r, "", fake.WindowAligned, fake.WindowSliding),
	}
	s.skew = upTo(r, 40*time.Minute) - 20*time.Minute
	s.latency = pick(r, 0, time.Millisecond, 80*time.Millisecond)
	// When a plan gets smaller, all requests in flight may be refused, and each caller may have one.
	for s.ban = 1 + r.IntN(3); chance(r, .3); s.ban = callers {
		s.changes = append(s.changes, change{
			after: upTo(r, 5*time.Minute), plan: plan(), ban: pick(r, 0, 0, 90*time.Second),
		})
	}
	for i := range callers {
		var calls []*call
		for j := range (n + callers - 1 - i) / callers {
			calls = append(calls, drawCall(r, trouble, fmt.Sprintf("pet %d of caller %d", j, i)))
		}
		s.callers = append(s.callers, calls)
	}
	return s
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d) + 1)) }

// run runs a scenario and the checks, in a bubble.
func (s *scenario) run(t *testing.T) *report {
	report := &report{scenario: s, counts: map[string]int{}}
	srv := fake.NewServer(
		fake.WithKey(key, s.plan), fake.WithBehavior(s.behavior), fake.WithBan(s.ban, time.Hour),
		fake.WithClock(func() time.Time { return time.Now().Add(s.skew) }), fake.WithLatency(s.latency),
		fake.WithSeed(s.seed), fake.WithJournal(1<<20),
		fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}, petstore.NewPet{Name: "Ada", CategoryID: 2}),
	)
	injected := inject(srv)
	base, hangUp := dial(srv, s.protocol)
	clients := s.newClients(t, &recorder{base, report})
	for _, ch := range s.changes {
		defer time.AfterFunc(ch.after, func() {
			if ch.ban > 0 {
				srv.BanKey(key, ch.ban)
			} else {
				srv.SetPlan(key, ch.plan)
			}
		}).Stop()
	}
	var all sync.WaitGroup
	for i, calls := range s.callers {
		all.Go(func() {
			for _, c := range calls {
				time.Sleep(c.pause) // virtual, as all time in a bubble
				c.run(t.Context(), clients[i%len(clients)])
				if limited, ok := errors.AsType[*petstore.RateLimitError](c.err); ok { // as a good caller does
					time.Sleep(time.Until(limited.RetryAt))
				}
			}
		})
	}
	all.Wait()
	hangUp()
	srv.Close()
	report.count(injected)
	report.check(srv)
	return report
}

func (s *scenario) newClients(t *testing.T, through *recorder) (clients []*petstore.Client) {
	limiter := ratelimit.New()
	log := slog.New(slog.NewTextHandler(logCheck{through.report}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for range s.clients {
		client, err := petstore.NewClient(baseURL, key,
			petstore.WithHTTPClient(&http.Client{Transport: through}), petstore.WithLimiter(limiter),
			petstore.WithMaxResponseBytes(maxBody), petstore.WithLogger(log))
		require.NoError(t, err)
		clients = append(clients, client)
	}
	return clients
}

// logCheck is the writer of a log; it looks for the key in each line.
type logCheck struct{ report *report }

func (e logCheck) Write(p []byte) (int, error) {
	e.report.searchKey("the log", string(p))
	return len(p), nil
}
