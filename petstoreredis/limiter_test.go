package petstoreredis_test

import (
	"bytes"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/scripttest"
	"github.com/petstore/petstore-go/petstoreredis"
	"github.com/petstore/petstore-go/ratelimit"
	"github.com/petstore/petstore-go/ratelimit/ratelimittest"
)

func TestLimiterRules(t *testing.T) {
	r := newVirtualRedis(t)
	ratelimittest.Run(t, func(t *testing.T) ratelimittest.Limiter {
		return r.process(t, petstoreredis.WithKeyPrefix(t.Name()))
	})
}

func TestNewLimiter(t *testing.T) {
	_, err := petstoreredis.NewLimiter(nil)
	assert.ErrorIs(t, err, petstore.ErrInvalidArgument)
	for _, invalid := range []petstoreredis.Option{petstoreredis.WithShare(-1), petstoreredis.WithTimeout(0), nil} {
		_, err = petstoreredis.NewLimiter(newClient(t, "", &link{}), invalid)
		assert.ErrorIs(t, err, petstore.ErrInvalidArgument)
	}
}

func TestCommon(t *testing.T) { perform(t, scripttest.Common) }

func TestFlush(t *testing.T) {
	perform(t, [][2]string{
		{"Flush reports what Redis does not know", "get 60 59, +3s ask 2, 200 60 5, flush = <nil>, b ask 99 = 3, " +
			"error READONLY replica, 200 60 4, flush = petstoreredis: flush: READONLY replica"},
		{"Flush tries a Redis that was away", "get 60 59, +3s ask 2, error OOM, ask, +500ms 200 60 5, up, flush = <nil>, b ask 99 = 3"},
		{"Flush has nothing to report of requests without Redis", "broken, ask, +1s = 1, 200 60 59, flush = <nil>"},
		{"a context ends Flush", "ask, silent, 200 60 59, end 1s, flush = petstoreredis: flush: context deadline exceeded"},
	})
}

// get makes a request that is admitted at once, and succeeds.
func get(t *testing.T, l *petstoreredis.Limiter, r ratelimit.Request) {
	t.Helper()
	p, err := l.Acquire(t.Context(), r)
	require.NoError(t, err)
	now := time.Now()
	w := ratelimit.Window{Limit: 60, Remaining: 59, Reset: now.Add(time.Minute)}
	p.Release(ratelimit.Outcome{Sent: now, Received: now, StatusCode: 200, Window: w})
}

func TestFlushOfManyKeys(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l, keys := r.process(t), []string{"1", "2", "3", "spoilt", "4", "5", "6"}
		for _, key := range slices.Concat(keys, keys) {
			get(t, l, ratelimit.Request{Key: key})
		}
		r.Del("petstore:spoilt")
		require.NoError(t, r.Set("petstore:spoilt", "no pot"))
		r.evals.Store(0)
		assert.ErrorContains(t, l.Flush(t.Context()), "WRONGTYPE")
		assert.EqualValues(t, len(keys), r.evals.Load(), "one key that fails does not keep the others")
	})
}

// If Redis fails for a few keys, as if a part of a cluster is away, the log says so once. Redis is
// back once it replies for the key that failed last or, if nobody uses this key, a minute later.
func TestLogOfManyKeys(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		var log bytes.Buffer
		l := r.process(t, petstoreredis.WithShare(1), petstoreredis.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		rounds := func(n, lines int, words string, keys ...string) {
			for _, key := range slices.Repeat(keys, n) {
				get(t, l, ratelimit.Request{Key: key, MaxWait: time.Hour})
				time.Sleep(time.Second)
			}
			synctest.Wait()
			assert.Equal(t, lines, strings.Count(log.String(), "\n"), log.String())
			assert.Contains(t, log.String(), words)
		}
		require.NoError(t, r.Set("petstore:spoilt", "no pot"))
		require.NoError(t, r.Set("petstore:too", "no pot"))
		rounds(10, 1, "key_id=spoilt", "well", "spoilt", "too")
		r.FlushAll()
		rounds(20, 1, "", "well", "spoilt")
		rounds(20, 2, "back", "well", "spoilt")
		require.NoError(t, r.Set("petstore:too", "no pot"))
		rounds(1, 3, "key_id=too", "well", "too")
		r.FlushAll()
		rounds(1, 4, "back", "well", "too")
	})
}

// A limiter keeps nothing of a request that is over, and nothing of a key without requests.
func TestLimiterMemory(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l := r.process(t)
		observer := &struct{ ratelimit.Observer }{}
		kept := weak.Make(observer)
		get(t, l, ratelimit.Request{Observer: observer})
		runtime.GC()
		assert.Nil(t, kept.Value())
		assert.Zero(t, l.RateLimit("unknown"))
		assert.Equal(t, 1, l.Keys())
	})
}
