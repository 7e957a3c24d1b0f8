package petstoreredis_test

import (
	"context"
	"fmt"
	"os"
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

// TestOnRedisRights has a user with the rights in docs/scaling.md. It checks that they suffice,
// that each of them is needed, and that a Cluster needs only one more.
func TestOnRedisRights(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/scaling.md")
	require.NoError(t, err)
	_, rights, _ := strings.Cut(string(text), "user petstore on >PASSWORD ")
	rights, _, _ = strings.Cut(rights, "```")
	script, err := os.ReadFile("pot.lua")
	require.NoError(t, err)
	setUser := []any{"acl", "setuser", "petstore", "on", ">secret"}
	for word := range strings.FieldsSeq(rights) {
		setUser = append(setUser, word)
		command, isRight := strings.CutPrefix(word, "+")
		called := strings.Contains(string(script), "call('"+strings.ToUpper(command)+"'")
		assert.True(t, called || !isRight || slices.Contains([]string{"eval", "evalsha", "hello"}, command), word)
	}
	// By default the port of the bus is the port + 10000, which may be beyond the last port.
	address := startRedis(t, "--cluster-enabled", "yes", "--cluster-port", freePort(t))
	admin := newClient(t, address, &link{})
	require.NoError(t, admin.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	require.Eventually(t, func() bool {
		info, err := admin.ClusterInfo(t.Context()).Result()
		return err == nil && strings.Contains(info, "cluster_state:ok")
	}, time.Minute, 50*time.Millisecond)
	require.NoError(t, admin.Do(t.Context(), setUser...).Err())
	one := redis.NewClient(&redis.Options{Addr: address, Username: "petstore", Password: "secret"})
	t.Cleanup(func() { _ = one.Close() })
	useUp(t, one)
	assert.ErrorContains(t, one.Get(t.Context(), "other").Err(), "NOPERM")

	require.NoError(t, admin.Do(t.Context(), append(setUser, "+cluster|slots")...).Err())
	require.NoError(t, admin.FlushAll(t.Context()).Err())
	cluster := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{address}, Username: "petstore", Password: "secret",
	})
	t.Cleanup(func() { _ = cluster.Close() })
	useUp(t, cluster)
}

// useUp uses up a window, sees a request refused, and reopens the key.
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
}
