package bench_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/peer"
)

// goroutines is the number of callers where calls are concurrent: far more than CPUs, as in a
// server.
const goroutines = 64

// BenchmarkCall measures every operation with every client, through a stub of a transport and over
// TCP, one call after another and from 64 goroutines. The clients of one operation run next to each
// other, so that a drift of the machine meets all of them, and in random order, so that none is
// always the first.
func BenchmarkCall(b *testing.B) {
	for _, via := range []string{"stub", "TCP"} {
		b.Run("via="+via, func(b *testing.B) {
			target := peer.Target{BaseURL: "http://127.0.0.1/v1", IdleConns: goroutines}
			if via == "stub" {
				target.Transport = canned.NewTransport()
			} else {
				target.BaseURL = startServer(b, "canned").baseURL
			}
			clients := newClients(b, target)
			for _, callers := range []int{1, goroutines} {
				for _, op := range canned.Operations() {
					for _, i := range rand.Perm(len(clients)) {
						name := fmt.Sprintf("callers=%d/op=%s/client=%s", callers, op, clients[i].name)
						b.Run(name, func(b *testing.B) { clients[i].benchmark(b, callers, op) })
					}
				}
			}
		})
	}
}

// client is a peer's client for one target.
type client struct {
	peer.Client

	name string
}

// newClients makes a client of every peer and fills its pools.
func newClients(tb testing.TB, target peer.Target) []client {
	tb.Helper()
	var all []client
	for _, p := range peer.Peers() {
		c, err := p.New(target)
		require.NoError(tb, err, p.Name)
		own := client{c, p.Name}
		fromMany(func() { own.call(tb, canned.List20) })
		all = append(all, own)
	}
	return all
}

// fromMany calls f from 64 goroutines.
func fromMany(f func()) {
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(f)
	}
	wg.Wait()
}

// call makes one call. Whether NotFound yields an error or a value is the client's choice.
func (c client) call(tb testing.TB, op canned.Operation) {
	if _, err := c.Call(tb.Context(), op); err != nil && op != canned.NotFound {
		tb.Errorf("%s: %v", c.name, err)
	}
}

func (c client) benchmark(b *testing.B, callers int, op canned.Operation) {
	b.ReportAllocs()
	b.SetParallelism(max(1, callers/runtime.GOMAXPROCS(0)))
	before := cpuTime()
	if callers == 1 {
		for b.Loop() {
			c.call(b, op)
		}
	} else {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c.call(b, op)
			}
		})
	}
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
}

// cpuTime returns the user and system time of all threads of this process in nanoseconds, those of
// the garbage collector among them.
func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // this process exists
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkStub measures the stub alone: its allocations are part of those of every client.
func BenchmarkStub(b *testing.B) {
	b.ReportAllocs()
	transport := canned.NewTransport()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://127.0.0.1/v1/pets?limit=20", nil)
	require.NoError(b, err)
	for b.Loop() {
		resp, err := transport.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
	}
}

func TestClients(t *testing.T) {
	server := startServer(t, "canned").baseURL
	for name, target := range map[string]peer.Target{
		"with its own transport":           {BaseURL: server},
		"with its own transport and pool":  {BaseURL: server, IdleConns: goroutines},
		"with the stub as their transport": {BaseURL: server, Transport: canned.NewTransport()},
	} {
		for _, c := range newClients(t, target) {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				for _, op := range canned.Operations() {
					got, err := c.Read(c.Call(t.Context(), op))
					require.NoError(t, err, op)
					assert.Equal(t, wantedResult(op, got.Status == 0), got, op)
				}
			})
		}
	}
}

// wantedResult is the result that every client must bring. silent: it does not tell the status of a
// success.
func wantedResult(op canned.Operation, silent bool) peer.Result {
	want := peer.Result{Status: canned.ResponseTo(op).Status, RateLimit: canned.RateLimit}
	switch op {
	case canned.List20, canned.List100:
		want.Pets = canned.Pets(op.Limit())
	case canned.Create, canned.Get:
		want.Pets = []petstore.Pet{canned.Pets(1)[0]}
		if silent {
			want.Status = 0
		}
	case canned.NotFound:
		want.Code = canned.NotFoundCode
	}
	return want
}
