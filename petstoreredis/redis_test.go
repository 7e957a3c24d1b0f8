package petstoreredis_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
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
	"github.com/petstore/petstore-go/ratelimit/ratelimittest"
)

func TestOnRedisRules(t *testing.T) {
	t.Parallel()
	s := newRedisServer(t)
	ratelimittest.RunRealTime(t, func(t *testing.T) ratelimittest.Limiter {
		l, err := petstoreredis.NewLimiter(s.client(t, &link{}), petstoreredis.WithKeyPrefix(t.Name()))
		require.NoError(t, err)
		return l
	})
}

// TestOnRedisAfter429 has the workers of a process go on making calls after a 429, as of a ban, while
// Redis is far away: only the requests on the wire still arrive.
func TestOnRedisAfter429(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{0, 50 * time.Millisecond, 300 * time.Millisecond} {
		for _, workers := range []int{1, 8} {
			t.Run(fmt.Sprintf("%d workers, Redis + %v", workers, delay), func(t *testing.T) {
				t.Parallel()
				server, way := newRedisServer(t), &link{}
				way.latency.Store(int64(delay))
				l, err := petstoreredis.NewLimiter(server.client(t, way))
				require.NoError(t, err)
				service := fake.NewTestServer(t, fake.WithPlan(fake.PlanPro), fake.WithLatency(20*time.Millisecond))
				client := service.Client(petstore.WithLimiter(l))
				ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
				defer cancel()
				time.AfterFunc(3*time.Second, func() {
					service.Inject(fake.Fault{Status: 429, RetryAfter: "3600", For: 3 * time.Second})
				})
				var all sync.WaitGroup
				for range workers {
					all.Go(func() {
						for ; ctx.Err() == nil; wait(ctx, 150*time.Millisecond) {
							_, _ = client.ListPets(t.Context(), petstore.ListPetsParams{}) // most are refused
						}
					})
				}
				all.Wait()
				rejected := 0
				for _, r := range service.Requests() {
					if r.StatusCode == http.StatusTooManyRequests {
						rejected++
					}
				}
				t.Logf("%d requests, %d after the first 429", len(service.Requests()), rejected-1)
				assert.Positive(t, rejected)
				assert.LessOrEqual(t, rejected-1, workers-1, "those on the wire")
			})
		}
	}
}

// leastRights returns what docs/scaling.md says that a user of Redis needs, without name and
// password.
func leastRights(t *testing.T) []any {
	t.Helper()
	text, err := os.ReadFile("../docs/scaling.md")
	require.NoError(t, err)
	_, rights, ok := strings.Cut(string(text), "user petstore on >PASSWORD ")
	require.True(t, ok, "the document does not say it")
	rights, _, _ = strings.Cut(rights, "```")
	words := []any{"acl", "setuser", "petstore", "on", ">secret"}
	for word := range strings.FieldsSeq(rights) {
		words = append(words, word)
	}
	return words
}

func TestLeastRights(t *testing.T) {
	text, err := os.ReadFile("pot.lua")
	require.NoError(t, err)
	called := map[string]bool{"+eval": true, "+evalsha": true, "+hello": true}
	for _, match := range regexp.MustCompile(`redis\.p?call\('(\w+)'`).FindAllStringSubmatch(string(text), -1) {
		called["+"+strings.ToLower(match[1])] = true
	}
	for _, word := range leastRights(t) {
		if right, _ := word.(string); strings.HasPrefix(right, "+") {
			assert.True(t, called[right], "%s is more than the script calls", right)
			delete(called, right)
		}
	}
	assert.Empty(t, called)
}

func TestOnRedisLeastRights(t *testing.T) {
	t.Parallel()
	server := newRedisServer(t)
	server.do(t, leastRights(t)...)
	rdb := redis.NewClient(&redis.Options{Addr: server.address, Username: "petstore", Password: "secret"})
	t.Cleanup(func() { _ = rdb.Close() })
	useUp(t, rdb)
	assert.ErrorContains(t, rdb.Get(t.Context(), "other").Err(), "NOPERM")
	assert.ErrorContains(t, rdb.FlushAll(t.Context()).Err(), "NOPERM")
}

func TestOnRedisCluster(t *testing.T) {
	t.Parallel()
	const slots = 16384
	// The default port of the bus is the port + 10000, which may be more than there are.
	server := newRedisServer(t, "--cluster-enabled", "yes", "--cluster-port", freePort(t))
	server.do(t, "cluster", "addslotsrange", 0, slots-1)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.address}})
	t.Cleanup(func() { _ = rdb.Close() })
	require.Eventually(t, func() bool {
		info, err := server.client(t, &link{}).ClusterInfo(t.Context()).Result()
		return err == nil && strings.Contains(info, "cluster_state:ok")
	}, time.Minute, 50*time.Millisecond)
	useUp(t, rdb)
}

// useUp uses up a window, is refused, and has the key reopened.
func useUp(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	limiter, err := petstoreredis.NewLimiter(rdb)
	require.NoError(t, err)
	service := fake.NewTestServer(t, fake.WithPlan(fake.Plan{PerMinute: 5}))
	client := service.Client(petstore.WithLimiter(limiter), petstore.WithMaxWait(0))
	for range 5 {
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
	}
	_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.ErrorIs(t, err, petstore.ErrRateLimited)
	client.ReopenLimit()
	require.NoError(t, limiter.Flush(t.Context()))
	assert.Zero(t, limiter.Stats().Fallbacks)
	assert.False(t, limiter.Stats().Away)
}

// BenchmarkOnRedisAcquire measures what a request with room waits for its permit, with a Redis that
// is 0.3 ms away, and how long a PING takes there.
func BenchmarkOnRedisAcquire(b *testing.B) {
	server, way := newRedisServer(b), &link{}
	way.latency.Store(int64(300 * time.Microsecond))
	rdb := server.client(b, way)
	l, err := petstoreredis.NewLimiter(rdb)
	require.NoError(b, err)
	var took, pings []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		p, err := l.Acquire(b.Context(), ratelimit.Request{})
		require.NoError(b, err)
		took = append(took, time.Since(start))
		p.Release(ok(1_000_000, 999_999-i))
		time.Sleep(10 * time.Millisecond)
		start = time.Now()
		require.NoError(b, rdb.Ping(b.Context()).Err())
		pings = append(pings, time.Since(start))
	}
	for name, times := range map[string][]time.Duration{"acquire": took, "ping": pings} {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds()), name+"-p50-µs")
		b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), name+"-p99-µs")
	}
	b.ReportMetric(float64(l.Stats().RoundTrips)/float64(b.N), "commands")
}
