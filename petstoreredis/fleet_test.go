package petstoreredis

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestFleetSharesABudget(t *testing.T) {
	r := newTestRedis(t)
	r.latency = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.PlanBusiness), fake.WithBan(3, time.Hour), fake.WithLatency(50*time.Millisecond), fake.WithStrict())
		var left atomic.Int64
		left.Store(2500)
		var group sync.WaitGroup
		start := time.Now()
		done := make([]int, 8)
		for p := range 8 {
			l := newTestLimiter(t, r)
			client := server.Client(petstore.WithLimiter(l), petstore.WithMaxWait(time.Hour))
			for range 4 {
				group.Go(func() {
					for left.Add(-1) >= 0 {
						_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
						require.NoError(t, err)
						done[p]++
					}
				})
			}
		}
		group.Wait()
		assert.Zero(t, server.Usage(server.APIKey()).Limited)
		t.Log(time.Since(start), done, r.trips.Load())
	})
}
