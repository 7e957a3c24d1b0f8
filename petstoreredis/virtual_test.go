package petstoreredis_test

import (
	"cmp"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
)

// virtualRedis is a miniredis whose clock is that of the bubble.
type virtualRedis struct {
	*miniredis.Miniredis
	link
}

// bubble runs a test in virtual time with a Redis. A goroutine that waits for miniredis does not
// wait for time, so that a command takes only the latency.
func bubble(t *testing.T, f func(t *testing.T, r *virtualRedis)) {
	t.Helper()
	r := &virtualRedis{Miniredis: miniredis.RunT(t)}
	synctest.Test(t, func(t *testing.T) {
		r.before = r.tick
		f(t, r)
	})
}

// tick sets the clock of the Redis.
func (r *virtualRedis) tick() { r.SetTime(time.Now()) }

// client returns a client over a link.
func (r *virtualRedis) client(t *testing.T, k *link) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: r.Addr(), Dialer: k.dial})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// process returns the limiter of a process.
func (r *virtualRedis) process(t *testing.T, opts ...petstoreredis.Option) *petstoreredis.Limiter {
	t.Helper()
	l, err := petstoreredis.NewLimiter(r.client(t, &r.link), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { // what is on its way ends with the bubble
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = l.Flush(ctx)
	})
	return l
}

func TestSimulatedFleets(t *testing.T) {
	for _, r := range []row{
		{limit: 60, processes: 2, name: "healthy"},
		{processes: 8, name: "healthy"},
		{limit: 1000, processes: 1, goroutines: 32, name: "healthy"},
		{processes: 64, name: "healthy"},
		{limit: 1000, processes: 100, goroutines: 1, name: "healthy"},
		{processes: 64, name: "slow", delay: 600 * time.Millisecond},
		{limit: 60, processes: 16, goroutines: 1, name: "slow", delay: 600 * time.Millisecond},
		{processes: 8, name: "minutes of the clock", window: fake.WindowAligned},
		{processes: 8, name: "windows that slide", window: fake.WindowSliding},
		{processes: 8, name: "Redis away with half of a window left", during: away(150)},
		{processes: 8, name: "Redis away with a window used up", during: away(300)},
		{processes: 8, name: "no replies with half of a window left", during: hung(150)},
		{processes: 64, name: "no replies with half of a window left", during: hung(150)},
	} {
		r.limit, r.goroutines, r.delay = cmp.Or(r.limit, 300), cmp.Or(r.goroutines, 4), cmp.Or(r.delay, time.Millisecond)
		t.Run(r.id(), func(t *testing.T) {
			if testing.Short() && r.processes > 8 {
				t.Skip("takes seconds")
			}
			bubble(t, func(t *testing.T, v *virtualRedis) {
				f := newFleet(t, r, 2)
				f.dial = func(k *link) *redis.Client {
					k.before = v.tick
					return v.client(t, k)
				}
				f.run()
				f.check(0.95)
			})
		})
	}
}

// away cuts the workers off from Redis for 20 seconds, after that many responses.
func away(responses int) func(f *fleet) {
	return func(f *fleet) {
		f.await(responses)
		for _, off := range []bool{true, false} {
			for _, w := range f.workers {
				w.toRedis.broken.Store(off)
			}
			wait(f.Context(), 20*time.Second)
		}
	}
}

// hung is like away, but no command is refused.
func hung(responses int) func(f *fleet) {
	return func(f *fleet) {
		f.await(responses)
		for _, off := range []bool{true, false} {
			for _, w := range f.workers {
				w.toRedis.silent.Store(off)
			}
			wait(f.Context(), 20*time.Second)
		}
	}
}

// newService returns a service with a limit per minute, which bans keys.
func newService(t *testing.T, limit int) *fake.Server {
	t.Helper()
	return fake.NewTestServer(t, fake.WithPlan(fake.Plan{PerMinute: limit}), fake.WithBan(5, time.Hour))
}
