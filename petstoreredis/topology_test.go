package petstoreredis_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
)

// leastRights returns what docs/scaling.md says that a user of Redis needs, without name and
// password.
func leastRights(t *testing.T) []any {
	t.Helper()
	text, err := os.ReadFile("../docs/scaling.md")
	require.NoError(t, err)
	_, rights, ok := strings.Cut(string(text), "user petstore on >PASSWORD ")
	require.True(t, ok, "the document does not say it")
	rights, _, _ = strings.Cut(rights, "```")
	words := []any{"acl", "setuser", "petstore", "on", ">secret"}
	for word := range strings.FieldsSeq(rights) {
		words = append(words, word)
	}
	return words
}

func TestLeastRights(t *testing.T) {
	text, err := os.ReadFile("pot.lua")
	require.NoError(t, err)
	called := map[string]bool{"+eval": true, "+evalsha": true, "+hello": true}
	for _, match := range regexp.MustCompile(`redis\.p?call\('(\w+)'`).FindAllStringSubmatch(string(text), -1) {
		called["+"+strings.ToLower(match[1])] = true
	}
	for _, word := range leastRights(t) {
		if right, _ := word.(string); strings.HasPrefix(right, "+") {
			assert.True(t, called[right], "%s is more than the script calls", right)
			delete(called, right)
		}
	}
	assert.Empty(t, called)
}

func TestOnRedisLeastRights(t *testing.T) {
	t.Parallel()
	server := newRedisServer(t)
	server.do(t, leastRights(t)...)
	rdb := redis.NewClient(&redis.Options{Addr: server.address, Username: "petstore", Password: "secret"})
	t.Cleanup(func() { _ = rdb.Close() })
	useUp(t, rdb)
	assert.ErrorContains(t, rdb.Get(t.Context(), "other").Err(), "NOPERM")
	assert.ErrorContains(t, rdb.FlushAll(t.Context()).Err(), "NOPERM")
}

func TestOnRedisCluster(t *testing.T) {
	t.Parallel()
	const slots = 16384
	// The default port of the bus is the port + 10000, which may be more than there are.
	server := newRedisServer(t, "--cluster-enabled", "yes", "--cluster-port", freePort(t))
	server.do(t, "cluster", "addslotsrange", 0, slots-1)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.address}})
	t.Cleanup(func() { _ = rdb.Close() })
	require.Eventually(t, func() bool {
		info, err := server.client(t).ClusterInfo(t.Context()).Result()
		return err == nil && strings.Contains(info, "cluster_state:ok")
	}, time.Minute, 50*time.Millisecond)
	useUp(t, rdb)
}

// useUp uses up a window, is refused, and has the key reopened.
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
	assert.Zero(t, limiter.Stats().Fallbacks)
	assert.False(t, limiter.Stats().Away)
}
