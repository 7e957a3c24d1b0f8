package petstoreredis_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
)

// TestOnRedisAfter429 has the workers of a process go on making calls after a 429, as of a ban, while
// Redis is far away: only the requests on the wire still arrive.
func TestOnRedisAfter429(t *testing.T) {
	for _, delay := range []time.Duration{0, 50 * time.Millisecond, 300 * time.Millisecond} {
		for _, workers := range []int{1, 8} {
			t.Run(fmt.Sprintf("%d workers, Redis + %v", workers, delay), func(t *testing.T) {
				t.Parallel()
				server, way := newRedisServer(t), &link{}
				way.latency.Store(int64(delay))
				l, err := petstoreredis.NewLimiter(redis.NewClient(&redis.Options{Addr: server.address, Dialer: way.dial}))
				assert.NoError(t, err)
				service := fake.NewTestServer(t, fake.WithPlan(fake.PlanPro), fake.WithLatency(20*time.Millisecond))
				client := service.Client(petstore.WithLimiter(l))
				start := time.Now()
				time.AfterFunc(3*time.Second, func() {
					service.Inject(fake.Fault{Status: 429, RetryAfter: "3600", For: 3 * time.Second})
				})
				var all sync.WaitGroup
				for range workers {
					all.Go(func() {
						for time.Since(start) < 6*time.Second {
							_, _ = client.ListPets(t.Context(), petstore.ListPetsParams{}) // most are refused
							time.Sleep(150 * time.Millisecond)
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
