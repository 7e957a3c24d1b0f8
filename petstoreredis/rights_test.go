package petstoreredis_test

import (
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/petstoreredis"
)

// leastRights returns what docs/scaling.md says that a user of Redis needs, without name and password.
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

func TestOnRedisLeastRightsSuffice(t *testing.T) {
	server, service := newRedisServer(t), newService(t, 5)
	require.NoError(t, server.client(t).Do(t.Context(), leastRights(t)...).Err())
	rdb := redis.NewClient(&redis.Options{Addr: server.address, Username: "petstore", Password: "secret"})
	t.Cleanup(func() { _ = rdb.Close() })
	limiter, err := petstoreredis.NewLimiter(rdb, "the fleet's key")
	require.NoError(t, err)
	client := service.Client(petstore.WithLimiter(limiter), petstore.WithMaxWait(0))
	for range 5 {
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
	}
	_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.ErrorIs(t, err, petstore.ErrRateLimited)
	client.Reopen()
	require.NoError(t, limiter.Flush(t.Context()))
	stats := limiter.Stats()
	assert.Zero(t, stats.Fallbacks)
	assert.Zero(t, stats.Repairs)
	assert.ErrorContains(t, rdb.Get(t.Context(), "other").Err(), "NOPERM")
}
