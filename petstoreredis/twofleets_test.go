package petstoreredis

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestNewLimiter_twoNamesForOneKey(t *testing.T) {
	long(t)
	for seed := range uint64(3) {
		bubble(t, func(t *testing.T, r *testRedis) {
			r.latency = time.Millisecond
			server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(300, 0)), fake.WithBan(10, time.Hour),
				fake.WithJournal(0))
			network := &link{
				RoundTripper: server.Transport(), rng: rand.New(rand.NewPCG(seed, 2)),
				fleet: fleet{least: 20 * time.Millisecond, most: 200 * time.Millisecond},
			}
			var group sync.WaitGroup
			start := time.Now()
			for i := range 8 {
				l, err := NewLimiter(r.client(t), []string{"a", "b"}[i%2])
				require.NoError(t, err)
				client := server.Client(petstore.WithLimiter(l), petstore.WithMaxWait(time.Hour),
					petstore.WithHTTPClient(&http.Client{Transport: network}))
				for range 4 {
					group.Go(func() {
						for range 25 { // 800 in all: two windows and a part
							_, _ = client.ListPets(t.Context(), petstore.ListPetsParams{})
						}
					})
				}
			}
			group.Wait()
			usage := server.Usage(server.APIKey())
			t.Logf("%d 429s in %v", usage.Limited, time.Since(start))
			assert.Zero(t, usage.BannedUntil)
			elapse(time.Minute)
		})
	}
}
