package petstore_test

import (
	"context"
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

func TestClientHerd(t *testing.T) {
	t.Parallel()
	const minute = 300 // requests of the Pro plan
	for name, c := range map[string]struct {
		calls, succeed int
		within         time.Duration // until the last success
		context        func(ctx context.Context, n int) (context.Context, context.CancelFunc)
		at             time.Duration // of all failures
		is             error
	}{
		"sends all of a minute's requests in seconds": {calls: minute, succeed: minute, within: 3 * time.Second},
		"refuses at once what has to wait longer than WithMaxWait": {
			calls: 3 * minute, succeed: 2 * minute, within: 61 * time.Second, at: 50 * time.Millisecond, is: petstore.ErrRateLimited,
		},
		"refuses at once what has a deadline before the next minute": {
			calls: 2 * minute, succeed: minute, within: 3 * time.Second, at: 50 * time.Millisecond, is: petstore.ErrRateLimited,
			context: func(ctx context.Context, _ int) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 30*time.Second)
			},
		},
		"gives the places of cancelled calls to the others": {
			calls: 2 * minute, succeed: minute, within: 3 * time.Second, at: 20 * time.Millisecond, is: context.Canceled,
			context: func(ctx context.Context, n int) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				if n%2 == 1 {
					time.AfterFunc(20*time.Millisecond, cancel)
				}
				return ctx, cancel
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := fake.NewTestServer(t, fake.WithPlan(fake.PlanPro), fake.WithLatency(50*time.Millisecond),
					fake.WithBan(1, time.Hour))
				client := server.Client(petstore.WithMaxWait(90 * time.Second))
				var succeeded atomic.Int32
				start := time.Now()
				var herd sync.WaitGroup
				for n := range c.calls {
					herd.Go(func() {
						ctx, cancel := t.Context(), context.CancelFunc(func() {})
						if c.context != nil {
							ctx, cancel = c.context(ctx, n)
						}
						defer cancel()
						if _, err := client.ListPets(ctx, petstore.ListPetsParams{}); err != nil {
							assert.ErrorIs(t, err, c.is)
							assert.Equal(t, c.at, time.Since(start), "%v", err)
							return
						}
						succeeded.Add(1)
						assert.LessOrEqual(t, time.Since(start), c.within)
					})
				}
				herd.Wait()
				assert.EqualValues(t, c.succeed, succeeded.Load())
				require.Empty(t, server.Violations())
			})
		})
	}
}

func TestClientReopenOfAWrappedLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t)
		client := server.Client(petstore.WithLimiter(fewAtOnce{petstore.NewLimiter(), make(chan struct{}, 2)}))
		server.BanKey(server.APIKey(), time.Hour)
		require.ErrorIs(t, list(client), petstore.ErrRateLimited)
		server.BanKey(server.APIKey(), 0)
		require.ErrorIs(t, list(client), petstore.ErrRateLimited)
		client.Reopen()
		require.NoError(t, list(client))
	})
}

func TestClientReopenOnEachRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithBan(5, time.Hour))
		server.BanKey(server.APIKey(), 24*time.Hour)
		client := server.Client()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 600 { // for a minute
					_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
					assert.ErrorIs(t, err, petstore.ErrRateLimited)
					client.Reopen()
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		all.Wait()
		assert.LessOrEqual(t, len(server.Requests()), 3)
	})
}

func TestClientHerdWaitsForNothingInVain(t *testing.T) {
	for _, maxWait := range []time.Duration{time.Minute, 2 * time.Minute, 122 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(370 * time.Millisecond) // Reset is in whole seconds
			server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree))
			client := server.Client(petstore.WithMaxWait(maxWait))
			start := time.Now()
			var herd sync.WaitGroup
			for range 300 {
				herd.Go(func() {
					if _, err := client.ListPets(t.Context(), petstore.ListPetsParams{}); err != nil {
						assert.Less(t, time.Since(start), time.Second, "%v: %v", maxWait, err)
					}
				})
			}
			herd.Wait()
		})
	}
}
