package petstoreredis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestLimiterAcquire_shortWindowIsNotTakenForSliding(t *testing.T) {
	for _, minute := range []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute} {
		t.Run(minute.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *testRedis) {
				r.setLatency(time.Millisecond)
				server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(60, 0)), fake.WithMinute(minute),
					fake.WithLatency(20*time.Millisecond), fake.WithStrict())
				client := server.Client(petstore.WithLimiter(newTestLimiter(t, r)), petstore.WithMaxWait(time.Hour))
				start := time.Now()
				for range 200 { // three windows and a part
					require.NoError(t, list(t, client))
				}
				took := time.Since(start)
				elapse(time.Second)
				text, err := r.Get("petstore:{2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683}:2:state")
				require.NoError(t, err)
				assert.NotContains(t, text, `"slides":true`)
				assert.Less(t, took, 3*minute+6*time.Second)
				elapse(time.Minute)
			})
		})
	}
}
