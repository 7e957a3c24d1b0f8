package petstoreredis_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/petstoreredis"
	"github.com/petstore/petstore-go/ratelimit"
)

// BenchmarkOnRedisAcquire measures what a request with room waits for its permit, with a Redis that
// is 0.3 ms away, and how long a PING takes there.
func BenchmarkOnRedisAcquire(b *testing.B) {
	server, way := newRedisServer(b), &link{}
	way.latency.Store(int64(300 * time.Microsecond))
	rdb := redis.NewClient(&redis.Options{Addr: server.address, Dialer: way.dial})
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
