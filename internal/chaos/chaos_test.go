// Package chaos has only tests: random calls of package petstore meet every failure that package
// fake can inject. No created pet may be lost, none may be created twice, and no error may claim
// more than the client can know.
//
// A scenario is a service with its plan, clock and behaviour, a connection to it, and callers that
// share a client. A seed decides the whole scenario before the run; only the order of goroutines
// and the jitter of the backoff differ between two runs. Afterwards the oracle compares the results
// of the calls with the requests that were sent, and with the pets and the journal of the service.
//
//	go test ./internal/chaos                              a few thousand calls
//	PETSTORE_CHAOS=100000 go test -v ./internal/chaos     100,000 calls, with figures
//	PETSTORE_SEED=7 go test -count=1 ./internal/chaos     scenarios from this seed on
package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/link"
)

const (
	callsOfScenario = 500
	usualCalls      = 2500

	baseURL = "http://localhost/v1"
	key     = "chaos-key-3f9b1c7e5d"
)

// protocols has the ways to the service. With "memory", the client uses the transport of the fake,
// which dials for each request. The other ways keep connections alive. Over "HTTP/2, recycled", the
// server ends a connection after a few requests, as some balancers do.
var protocols = []string{"memory", "HTTP/1.1", "HTTP/1.1 of the caller", "HTTP/2", "HTTP/2, recycled"}

func TestChaosInMemory(t *testing.T) {
	counts := map[string]int{} // of calls by operation and outcome, and of requests by fault
	first, _ := strconv.Atoi(os.Getenv("PETSTORE_SEED"))
	calls, _ := strconv.Atoi(cmp.Or(os.Getenv("PETSTORE_CHAOS"), strconv.Itoa(usualCalls)))
	for seed := first; seed < first+calls/callsOfScenario; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				found := run(t, seed, counts)
				assert.Emptyf(t, found[:min(len(found), 10)],
					"%d findings; again: PETSTORE_SEED=%d PETSTORE_CHAOS=500 go test -count=1 ./internal/chaos", len(found), seed)
			})
		})
	}
	t.Log(counts)
	if counts["calls"] < usualCalls { // a short run may lack some kinds of calls
		return
	}
	for _, o := range fake.Operations() { // without a success, nothing tests the rules about successes
		assert.Positive(t, counts[o.Name+" done"], "calls of %s that succeeded: see ask in call_test.go", o.Name)
	}
	assert.GreaterOrEqual(t, 2*counts[done], counts["calls"], "half of the calls succeed")
	for i, f := range faults {
		assert.Positive(t, counts[fmt.Sprint("fault ", i)], "requests that met %+v", f)
	}
}

// run draws a scenario, runs it, and returns what the oracle found.
func run(t *testing.T, seed int, counts map[string]int) []string {
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	report := &report{counts: counts, keys: pick(r, []string{key}, []string{"chaos-key-7d21", "chaos-key-90be"})}
	calls, trouble := make([]*call, callsOfScenario), .05+.35*r.Float64()
	for i := range calls {
		calls[i] = drawCall(r, trouble, fmt.Sprintf("pet %d", i))
	}
	srv := newServer(r, report.keys)
	report.protocol = protocols[seed%len(protocols)]
	base, hangUp := dial(srv, report.protocol)
	transport := petstore.WithTransport(func(http.RoundTripper) http.RoundTripper { return base })
	if report.byCaller() {
		transport = petstore.WithHTTPClient(&http.Client{Transport: base})
	}
	client, err := petstore.NewClient(baseURL, "", petstore.WithAPIKeyFunc(report.key), transport,
		petstore.WithTransport(func(own http.RoundTripper) http.RoundTripper { return &recorder{own, report} }),
		petstore.WithLogger(slog.New(slog.NewTextHandler(report, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	require.NoError(t, err)
	var all sync.WaitGroup
	for mine := range slices.Chunk(calls, 10+r.IntN(116)) { // 4 to 50 callers, each with one call after another
		all.Go(func() {
			for _, c := range mine {
				time.Sleep(c.pause) // virtual, as all time in a bubble
				c.run(t.Context(), client)
				if limited, ok := errors.AsType[*petstore.RateLimitError](c.err); ok { // a well-behaved caller waits
					time.Sleep(time.Until(limited.RetryAt))
				}
			}
		})
	}
	all.Wait()
	hangUp()
	srv.Close()
	report.check(srv, calls)
	return report.findings
}

func newServer(r *rand.Rand, keys []string) *fake.Server {
	var behaviors []fake.Option
	for _, b := range fake.Variants() {
		behaviors = append(behaviors, b)
	}
	srv := fake.NewServer(
		pick(r, behaviors...), fake.WithBan(1+r.IntN(3), time.Hour),
		fake.WithLatency(pick(r, 0, time.Millisecond, 80*time.Millisecond)), fake.WithJournal(1<<20),
		fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}, petstore.NewPet{Name: "Ada", CategoryID: 2}))
	for i, f := range faults {
		f.Times = fake.Forever
		f.Match = func(r *http.Request) bool { return r.Header.Get(faultHeader) == fmt.Sprint(i) }
		srv.Inject(f)
	}
	for _, k := range keys {
		srv.AddKey(k, fake.Plan{PerMinute: pick(r, 60, 300, 1000, 1000, 0), PerDay: pick(r, 0, 0, 0, 1000)})
	}
	srv.Advance(upTo(r, 40*time.Minute) - 20*time.Minute)
	return srv
}

// dial returns a transport to the service in memory, and a function that closes it.
func dial(srv *fake.Server, protocol string) (http.RoundTripper, func()) {
	if protocol == "memory" {
		return srv.HTTPClient().Transport, func() {}
	}
	var protocols http.Protocols
	protocols.SetHTTP1(strings.HasPrefix(protocol, "HTTP/1.1"))
	protocols.SetUnencryptedHTTP2(strings.HasPrefix(protocol, "HTTP/2"))
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	served := new(atomic.Int64)
	hs := &http.Server{Protocols: &protocols, ErrorLog: quiet}
	hs.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if protocol == "HTTP/2, recycled" && served.Add(1)%5 == 0 {
			w.Header().Set("Connection", "close") // sends GOAWAY
		}
		srv.ServeHTTP(w, r)
	})
	tr := &http.Transport{Protocols: &protocols, MaxIdleConnsPerHost: 16}
	tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
		client, server := link.New()
		link.Serve(server, hs)
		return client, nil
	}
	return tr, func() {
		tr.CloseIdleConnections()
		_ = hs.Close()
	}
}
