package petstoreredis_test

import (
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/petstoreredis"
)

const fleetSize = 8

// BenchmarkRequests shows how many requests a second eight limiters admit together through one real
// Redis, when the key has no limit that they would reach and every response comes at once.
func BenchmarkRequests(b *testing.B) {
	server := newRedisServer(b)
	var fleet []petstore.Limiter
	for range fleetSize {
		l, err := petstoreredis.NewLimiter(server.client(b), "the fleet's key", petstoreredis.WithTimeout(time.Second))
		require.NoError(b, err)
		fleet = append(fleet, l)
	}
	const limit = 1 << 30
	reset := time.Now().Truncate(time.Second).Add(time.Minute)
	var used atomic.Int64
	b.SetParallelism(64)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		l := fleet[int(used.Load())%fleetSize]
		for pb.Next() {
			p, err := l.Acquire(b.Context(), petstore.LimitRequest{MaxWait: time.Minute})
			if err != nil {
				b.Error(err)
				return
			}
			now := time.Now()
			p.Release(petstore.Observation{
				Delivery: petstore.DeliveryAnswered,
				Sent:     now, Received: now, StatusCode: 200, Date: now.Truncate(time.Second),
				RateLimit: petstore.RateLimit{Limit: limit, Remaining: limit - int(used.Add(1)), Reset: reset},
			})
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	calls, took := scriptTime(b, server)
	b.ReportMetric(float64(calls)/float64(b.N), "trips/request")
	b.ReportMetric(float64(took.Microseconds())/float64(calls), "µs-of-redis/trip")
}

var scriptCalls = regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+),usec=(\d+)`)

// scriptTime returns how often the script ran, and how long in all.
func scriptTime(b *testing.B, s *redisServer) (calls int, took time.Duration) {
	b.Helper()
	text, err := s.client(b).Info(b.Context(), "commandstats").Result()
	require.NoError(b, err)
	for _, match := range scriptCalls.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(match[1])
		micros, _ := strconv.Atoi(match[2])
		calls += n
		took += time.Duration(micros) * time.Microsecond
	}
	return calls, took
}
