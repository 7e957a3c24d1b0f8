package petstoreredis

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func newLog() (*slog.Logger, *strings.Builder) {
	var text strings.Builder
	return slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelWarn})), &text
}

func TestLimiterAcquire_awayRedisIsTriedOnceASecond(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(16, 0)), fake.WithStrict())
		l := newTestLimiter(t, r, WithShare(1))
		client := server.Client(petstore.WithLimiter(l), petstore.WithMaxWait(time.Hour))
		r.down.Store(true)
		var group sync.WaitGroup
		for range 17 { // the last has to wait for the next window
			group.Go(func() {
				assert.NoError(t, list(t, client))
			})
		}
		synctest.Wait()
		elapse(10 * time.Second)
		assert.NotNil(t, l.fallback.share)
		r.down.Store(false)
		elapse(time.Second + time.Millisecond)
		assert.Nil(t, l.fallback.share, "the one that waits has had Redis tried")
		group.Wait()
		assert.Zero(t, server.Usage(server.APIKey()).Limited)
	})
}

func TestLimiterAcquire_everyFailureOfRedisIsAFallback(t *testing.T) {
	for _, failure := range []string{
		"LOADING Redis is loading the dataset in memory",
		"READONLY You can't write against a read only replica.",
		"OOM command not allowed when used memory > 'maxmemory'.",
		"ERR Error running script",
		"NOAUTH Authentication required.",
	} {
		t.Run(strings.Fields(failure)[0], func(t *testing.T) {
			bubble(t, func(t *testing.T, r *testRedis) {
				logger, text := newLog()
				l := newTestLimiter(t, r, WithLogger(logger))
				r.SetError(failure)
				start := time.Now()
				acquire(t, l).Release(petstore.Observation{})
				assert.Less(t, time.Since(start), 100*time.Millisecond)
				synctest.Wait()
				assert.NotNil(t, l.fallback.share)
				assert.Contains(t, text.String(), strings.Fields(failure)[0])
			})
		})
	}
}

func TestLimiterAcquire_replyThatTheScriptCannotHaveMade(t *testing.T) {
	const good = `"instance":"a","processes":1`
	for _, text := range []string{
		"garbage", "", "null", "[]", "{}", `{"granted":1}`, `{"processes":1}`, `{"instance":"a"}`,
		`{"instance":"a","processes":-1}`, `{` + good + `,"granted":1073741824}`, `{` + good + `,"granted":-1}`,
		`{` + good + `,"wait":9223372036854775807}`,
		`{` + good + `,"wait":-18446744073709552}`, `{` + good + `,"gate":9223372036854}`, `{` + good + `,"ends":-9223372036854}`,
		`{` + good + `,"limit":-5}`, `{` + good + `,"left":-1}`, `{` + good + `,"epoch":1,"shown":-1}`,
		`{` + good + `,"scope":"none of ours"}`,
	} {
		bubble(t, func(t *testing.T, r *testRedis) {
			l := garbledLimiter(t, r, text)
			acquire(t, l)
			synctest.Wait()
			assert.NotNil(t, l.fallback.share, text)
		})
	}
}

func TestLimiterAcquire_replyWithoutAWaitIsNoBusyLoop(t *testing.T) {
	for _, wait := range []string{"0", "-1", "1"} {
		bubble(t, func(t *testing.T, r *testRedis) {
			l := garbledLimiter(t, r, `{"instance":"a","processes":1,"reason":"full","wait":`+wait+`}`)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := l.Acquire(ctx, petstore.LimitRequest{MaxWait: time.Hour})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.LessOrEqual(t, l.Stats().RoundTrips, 1+int(time.Second/leastWait))
		})
	}
}

// garbledLimiter returns a limiter for which something else replies instead of the script.
func garbledLimiter(t *testing.T, r *testRedis, text string) *Limiter {
	t.Helper()
	rdb := r.client(t)
	rdb.AddHook(hook(func(_ context.Context, cmd redis.Cmder, _ redis.ProcessHook) error {
		if c, ok := cmd.(*redis.Cmd); ok {
			c.SetVal(text)
		}
		return nil
	}))
	l, err := NewLimiter(rdb, "key")
	require.NoError(t, err)
	return l
}

func TestWithLogger_atMostOneLineAMinute(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		logger, text := newLog()
		l := newTestLimiter(t, r, WithLogger(logger), WithShare(1))
		open(t, l, 1000, 900)
		start := time.Now()
		for i := range 300 {
			r.down.Store(i%20 < 15) // 15 times
			if p, err := l.Acquire(t.Context(), petstore.LimitRequest{}); err == nil {
				p.Release(respond(http.StatusOK, 1000, 800-i, start.Add(time.Minute)))
			}
			elapse(time.Second)
		}
		elapse(2 * time.Minute)
		assert.LessOrEqual(t, strings.Count(text.String(), "\n"), 6)
		assert.Contains(t, text.String(), "name="+l.Stats().Name)
		assert.Greater(t, l.Stats().Fallbacks, 2)
		assert.Less(t, l.Stats().Fallbacks, 15, "a Redis that comes and goes has to stay before it is trusted")
	})
}
