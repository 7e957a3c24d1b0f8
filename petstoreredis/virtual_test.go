package petstoreredis_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
)

// virtualRedis is a miniredis whose clock is that of the bubble.
type virtualRedis struct {
	*miniredis.Miniredis
	latency atomic.Int64 // of a command
	broken  atomic.Bool  // connections are refused and break
	silent  atomic.Bool  // commands get no reply
}

// bubble runs a test in virtual time with a Redis. A goroutine that waits for miniredis does not
// wait for time, so that a command takes only the latency.
func bubble(t *testing.T, f func(t *testing.T, r *virtualRedis)) {
	t.Helper()
	r := &virtualRedis{Miniredis: miniredis.RunT(t)}
	synctest.Test(t, func(t *testing.T) { f(t, r) })
}

// client returns the client of a process.
func (r *virtualRedis) client(t *testing.T) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{
		Addr: r.Addr(),
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			if r.broken.Load() {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
			}
			conn, err := net.Dial("tcp", r.Addr())
			return &virtualConn{conn, r}, err
		},
	})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

type virtualConn struct {
	net.Conn
	redis *virtualRedis
}

func (c *virtualConn) Write(b []byte) (int, error) {
	time.Sleep(time.Duration(c.redis.latency.Load()))
	for c.redis.silent.Load() {
		time.Sleep(time.Second)
	}
	if c.redis.broken.Load() {
		_ = c.Close()
		return 0, io.EOF
	}
	c.redis.SetTime(time.Now())
	return c.Conn.Write(b)
}

// process returns the limiter of a process.
func (r *virtualRedis) process(t *testing.T, opts ...petstoreredis.Option) *petstoreredis.Limiter {
	t.Helper()
	l, err := petstoreredis.NewLimiter(r.client(t), "the key", opts...)
	require.NoError(t, err)
	return l
}

type simulation struct {
	window                                 fake.Window
	limit, processes, goroutines, requests int
}

type simulated struct {
	limited   int
	ratio     float64
	trips     float64
	counts    []int
	longest   time.Duration
	fallbacks int
}

func (s simulation) run(t *testing.T) (out simulated) {
	t.Helper()
	out.counts = make([]int, s.processes)
	bubble(t, func(t *testing.T, r *virtualRedis) {
		r.latency.Store(int64(time.Millisecond))
		rng, mu := rand.New(rand.NewPCG(1, 2)), sync.Mutex{}
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(s.limit, 0)), fake.WithBan(5, time.Hour),
			fake.WithBehavior(fake.Behavior{Window: s.window}), fake.WithJournal(0))
		transport := petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				mu.Lock()
				half := time.Duration(rng.Int64N(int64(90*time.Millisecond))) + 10*time.Millisecond
				mu.Unlock()
				time.Sleep(half)
				resp, err := base.RoundTrip(req)
				time.Sleep(half)
				return resp, err
			})
		})
		var begun atomic.Int64
		var group sync.WaitGroup
		start := time.Now()
		var limiters []*petstoreredis.Limiter
		for p := range s.processes {
			l := r.process(t)
			limiters = append(limiters, l)
			client := server.Client(petstore.WithLimiter(l), petstore.WithMaxWait(time.Hour), transport)
			for range s.goroutines {
				group.Go(func() {
					for begun.Add(1) <= int64(s.requests) {
						began := time.Now()
						_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
						assert.NoError(t, err)
						mu.Lock()
						out.counts[p]++
						out.longest = max(out.longest, time.Since(began))
						mu.Unlock()
					}
				})
			}
		}
		group.Wait()
		took := time.Since(start)
		for _, l := range limiters {
			out.trips += float64(l.Stats().RoundTrips) / float64(s.requests)
			out.fallbacks += l.Stats().Fallbacks
		}
		out.limited = server.Usage(server.APIKey()).Limited
		callers := s.processes * s.goroutines
		whole := (s.requests - 1) / s.limit
		rounds := (s.requests - whole*s.limit + callers - 1) / callers
		bound := time.Duration(whole)*time.Minute + time.Duration(rounds)*110*time.Millisecond
		out.ratio = float64(took) / float64(bound)
		time.Sleep(time.Minute)
	})
	t.Logf("%+v: %d 429s, %.3f of the bound, %.2f trips, least %d of mean %d, longest %v, %d fallbacks", s, out.limited,
		out.ratio, out.trips, slices.Min(out.counts), s.requests/s.processes, out.longest, out.fallbacks)
	return out
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestSimulatedFleets has the figures of docs/scaling.md about round trips.
func TestSimulatedFleets(t *testing.T) {
	for _, test := range []struct {
		simulation

		trips, fairness float64
		limited         int
	}{
		{simulation{limit: 60, processes: 2, goroutines: 4}, 1, 0.7, 0},
		{simulation{limit: 300, processes: 8, goroutines: 4}, 0.5, 0.5, 0},
		{simulation{limit: 1000, processes: 1, goroutines: 32}, 0.1, 1, 0},
		{simulation{limit: 300, processes: 64, goroutines: 4}, 2, 0.5, 0},
		{simulation{limit: 1000, processes: 100, goroutines: 1}, 2, 0.3, 0},
		{simulation{limit: 1000, processes: 1000, goroutines: 1}, 6, 0, 0},
		{simulation{limit: 300, processes: 8, goroutines: 4, window: fake.WindowAligned}, 1, 0, 0},
		{simulation{limit: 300, processes: 8, goroutines: 4, window: fake.WindowSliding}, 1, 0, 5},
	} {
		s := test.simulation
		s.requests = s.limit * 5 / 2
		t.Run(fmt.Sprintf("%d x %d on %d %v", s.processes, s.goroutines, s.limit, s.window), func(t *testing.T) {
			if s.processes == 1000 && !*wholeTable || testing.Short() && s.processes > 8 {
				t.Skip("takes seconds")
			}
			out := s.run(t)
			assert.LessOrEqual(t, out.limited, test.limited)
			assert.Zero(t, out.fallbacks)
			assert.LessOrEqual(t, out.ratio, 1.05)
			assert.LessOrEqual(t, out.trips, test.trips)
			assert.GreaterOrEqual(t, float64(slices.Min(out.counts)*s.processes)/float64(s.requests), test.fairness)
		})
	}
}

// newService returns a service with a limit per minute, which bans keys.
func newService(t *testing.T, limit int) *fake.Server {
	t.Helper()
	return fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(limit, 0)), fake.WithBan(5, time.Hour))
}
