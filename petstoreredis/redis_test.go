package petstoreredis_test

import (
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// TestOnRedisRights uses Redis with the rights in docs/scaling.md. With all of them, the limiter
// works. Without the right to one of the commands that the script needs, Flush returns an error.
func TestOnRedisRights(t *testing.T) {
	t.Parallel()
	needsRepository(t)
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
		p.Release(ratelimit.Outcome{})
		return l.Flush(t.Context())
	}
	require.NoError(t, use("del")) // this right is needed only to replace a pot
	for _, command := range []string{"evalsha", "time", "hgetall", "hset", "pexpire"} {
		require.Error(t, use(command), command)
	}
	assert.ErrorContains(t, rdb.Get(t.Context(), "other").Err(), "NOPERM")
}
