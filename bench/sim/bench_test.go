package sim

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// These benchmarks are what the figures about overhead are quoted from:
//
//	go test -run - -bench . -benchmem
//	go test -run - -bench Latency/limiter -mutexprofile mutex.out && go tool pprof -top mutex.out

// plenty remains of a window of 1<<30.
const plenty = 1<<30 - 1

// roomy is a response that leaves room for any number of requests.
func roomy() petstore.Observation {
	now := time.Now()
	return petstore.Observation{
		Sent: now, Received: now, StatusCode: http.StatusOK, Date: now.Truncate(time.Second),
		RateLimit: petstore.RateLimit{Limit: 1 << 30, Remaining: plenty, Reset: now.Add(time.Minute)},
	}
}

func acquireAndRelease(ctx context.Context, b *testing.B, l petstore.Limiter, o petstore.Observation) {
	permit, err := l.Acquire(ctx, time.Minute)
	if err != nil {
		b.Error(err)
		return
	}
	permit.Release(o)
}

func BenchmarkAcquireReleaseUncontended(b *testing.B) {
	b.ReportAllocs()
	l, o := petstore.NewLimiter(), roomy()
	for b.Loop() {
		acquireAndRelease(b.Context(), b, l, o)
	}
}

func BenchmarkAcquireReleaseContended512(b *testing.B) {
	b.ReportAllocs()
	l, o := petstore.NewLimiter(), roomy()
	acquireAndRelease(b.Context(), b, l, o)
	b.SetParallelism(512 / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			acquireAndRelease(b.Context(), b, l, o)
		}
	})
}

// BenchmarkCall is a whole call without a network, alone and with 511 others at the same time; the
// difference that the limiter makes is what it costs.
func BenchmarkCall(b *testing.B) {
	for _, goroutines := range []int{1, 512} {
		b.Run(fmt.Sprintf("%d/limiter", goroutines), func(b *testing.B) { benchmarkCall(b, goroutines, overCanned(plenty, 0)) })
		b.Run(fmt.Sprintf("%d/none", goroutines), func(b *testing.B) {
			benchmarkCall(b, goroutines, overCanned(plenty, 0), petstore.WithLimiter(nil))
		})
	}
}

func benchmarkCall(b *testing.B, goroutines int, opts ...petstore.Option) {
	b.Helper()
	b.ReportAllocs()
	client := newBenchmarkClient(b, opts...)
	call := func() {
		if _, err := client.ListPets(b.Context(), petstore.ListPetsParams{}); err != nil {
			b.Error(err)
		}
	}
	if goroutines == 1 {
		for b.Loop() {
			call()
		}
		return
	}
	b.SetParallelism(goroutines / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			call()
		}
	})
}

// BenchmarkLatency is what 512 goroutines do in practice: their responses take 20 ms, the shortest
// of the simulation. The mutex profile of this one shows how long a call waits for the limiter's
// lock.
func BenchmarkLatency(b *testing.B) {
	b.Run("limiter", func(b *testing.B) { benchmarkCall(b, 512, overCanned(plenty, minLatency)) })
	b.Run("none", func(b *testing.B) { benchmarkCall(b, 512, overCanned(plenty, minLatency), petstore.WithLimiter(nil)) })
}

// BenchmarkRefusal is a call that is refused because its wait does not fit: nothing is sent.
func BenchmarkRefusal(b *testing.B) {
	b.ReportAllocs()
	client := newBenchmarkClient(b, overCanned(0, 0))
	if _, err := client.ListPets(b.Context(), petstore.ListPetsParams{}); err != nil {
		b.Fatal(err)
	}
	noWait := petstore.WithMaxWait(0)
	for b.Loop() {
		if _, err := client.ListPets(b.Context(), petstore.ListPetsParams{}, noWait); err == nil {
			b.Fatal("the window is exhausted")
		}
	}
}

// canned is a service whose response is always the same.
type canned struct {
	header  http.Header
	latency time.Duration
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.latency > 0 {
		if err := sleep(r.Context(), c.latency); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: c.header, ContentLength: 2,
		Body: io.NopCloser(strings.NewReader("[]")), Request: r,
	}, nil
}

// overCanned is an option for a service with this much remaining and this latency.
func overCanned(remaining int, latency time.Duration) petstore.Option {
	now := time.Now()
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	h.Set(headerLimit, strconv.Itoa(1<<30))
	h.Set(headerRemaining, strconv.Itoa(remaining))
	h.Set(headerReset, strconv.FormatInt(now.Add(time.Minute).Unix(), 10))
	return petstore.WithHTTPClient(&http.Client{Transport: canned{h, latency}})
}

func newBenchmarkClient(b *testing.B, opts ...petstore.Option) *petstore.Client {
	b.Helper()
	client, err := petstore.NewClient(baseURL, fake.DefaultAPIKey, opts...)
	if err != nil {
		b.Fatal(err)
	}
	return client
}
