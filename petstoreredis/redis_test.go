package petstoreredis_test

import (
	"context"
	"fmt"
	"os"
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
	rdb := newClient(t, startRedis(t), &link{})
	ratelimittest.RunRealTime(t, func(t *testing.T) ratelimittest.Limiter {
		l, err := petstoreredis.NewLimiter(rdb, petstoreredis.WithKeyPrefix(t.Name()))
		require.NoError(t, err)
		return l
	})
}

// TestOnRedisAfter429 lets the workers of a process make further calls after a 429 like that of a
// ban, while Redis is far away. Only the requests that were on the wire still arrive.
func TestOnRedisAfter429(t *testing.T) {
	t.Parallel()
	address := startRedis(t)
	for _, delay := range []time.Duration{0, 50 * time.Millisecond, 300 * time.Millisecond} {
		for _, workers := range []int{1, 8} {
			t.Run(fmt.Sprintf("%d workers, Redis + %v", workers, delay), func(t *testing.T) {
				t.Parallel()
				way := &link{}
				way.latency.Store(int64(delay))
				l, err := petstoreredis.NewLimiter(newClient(t, address, way), petstoreredis.WithKeyPrefix(t.Name()))
				require.NoError(t, err)
				service := fake.NewTestServer(t, fake.WithPlan(fake.PlanPro), fake.WithLatency(20*time.Millisecond))
				client := service.Client(petstore.WithLimiter(l))
				ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
				defer cancel()
				time.AfterFunc(3*time.Second, func() { service.BanKey(service.APIKey(), time.Hour) })
				var all sync.WaitGroup
				for range workers {
					all.Go(func() {
						for ; ctx.Err() == nil; wait(ctx, 150*time.Millisecond) {
							_, _ = client.ListPets(t.Context(), petstore.ListPetsParams{}) // most are refused
						}
					})
				}
				all.Wait()
				rejected := service.Usage(service.APIKey()).Limited
				assert.Positive(t, rejected)
				assert.LessOrEqual(t, rejected, workers, "those on the wire")
			})
		}
	}
}

// TestOnRedisRights has a user with the rights in docs/scaling.md: they suffice, and without any of
// them but those that connect, the process goes on without Redis.
func TestOnRedisRights(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/scaling.md")
	require.NoError(t, err)
	_, rights, _ := strings.Cut(string(text), "user petstore on >PASSWORD ")
	rights, _, _ = strings.Cut(rights, "```")
	address := startRedis(t)
	admin := newClient(t, address, &link{})
	setUser := []any{"acl", "setuser", "petstore", "on", ">secret"}
	for word := range strings.FieldsSeq(rights) {
		setUser = append(setUser, word)
	}
	rdb := redis.NewClient(&redis.Options{Addr: address, Username: "petstore", Password: "secret"})
	t.Cleanup(func() { _ = rdb.Close() })
	use := func(without string) error {
		require.NoError(t, admin.FlushAll(t.Context()).Err())
		require.NoError(t, admin.Do(t.Context(), setUser...).Err())
		l, err := petstoreredis.NewLimiter(rdb)
		require.NoError(t, err)
		p, err := l.Acquire(t.Context(), ratelimit.Request{})
		require.NoError(t, err)
		require.NoError(t, admin.Do(t.Context(), "acl", "setuser", "petstore", "-"+without).Err())
		p.Release(ok(60, 59))
		return l.Flush(t.Context())
	}
	require.NoError(t, use("del")) // for a pot that is replaced
	for _, command := range []string{"evalsha", "time", "hgetall", "hset", "pexpire"} {
		require.Error(t, use(command), command)
	}
	assert.ErrorContains(t, rdb.Get(t.Context(), "other").Err(), "NOPERM")
}
