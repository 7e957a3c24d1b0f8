package petstoreredis

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestWithShare_processKeepsToItWhileRedisIsAway(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(60, 0)), fake.WithStrict())
		logger, text := newLog()
		r.down.Store(true)
		l := newTestLimiter(t, r, WithShare(4), WithLogger(logger))
		client := server.Client(petstore.WithLimiter(l), petstore.WithMaxWait(0))
		done := 0
		for range 60 {
			if list(t, client) == nil {
				done++
			}
		}
		synctest.Wait()
		assert.InDelta(t, 15, done, 1, "a quarter of the window")
		assert.Equal(t, 1, strings.Count(text.String(), "redis is away"))
		assert.Equal(t, 60, client.RateLimit().Limit, "the key's limit, not the share")
		elapse(2 * time.Minute)
		require.NoError(t, list(t, client))
		assert.NotContains(t, text.String(), "redis is back")
		r.down.Store(false)
		elapse(time.Second)
		_ = list(t, client) // has Redis tried
		elapse(logEvery)
		assert.Equal(t, 1, strings.Count(text.String(), "redis is away"))
		assert.Equal(t, 1, strings.Count(text.String(), "redis is back"))
	})
}

func TestWithShare_defaultIsTheLastKnownNumberOfProcesses(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		var fleet []*Limiter
		for range 5 {
			l := newTestLimiter(t, r)
			fleet = append(fleet, l)
			acquire(t, l).Release(respond(http.StatusOK, 60, 59-len(fleet), time.Now().Add(time.Minute)))
			elapse(time.Second)
		}
		elapse(settled)
		l := fleet[4]
		r.down.Store(true)
		for l.fallback.share == nil {
			p, err := l.Acquire(t.Context(), petstore.LimitRequest{MaxWait: time.Second})
			require.NoError(t, err)
			p.Release(petstore.Observation{})
			elapse(time.Second)
		}
		assert.Equal(t, 5, l.fallback.share.processes)
	})
}

func TestWithShare_defaultWhenRedisNeverReplied(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		l := newTestLimiter(t, r)
		r.down.Store(true)
		acquire(t, l).Release(petstore.Observation{})
		synctest.Wait()
		assert.Equal(t, unknownShare, l.fallback.share.processes)
	})
}

func TestWithTimeout_redisThatHangsDelaysOneCallOnly(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		server := fake.NewTestServer(t)
		r.setLatency(time.Minute)
		l := newTestLimiter(t, r, WithShare(1))
		client := server.Client(petstore.WithLimiter(l))
		start := time.Now()
		for range 50 {
			require.NoError(t, list(t, client))
		}
		assert.Equal(t, firstTimeout, time.Since(start))
		elapse(5 * time.Minute)
	})
}

func TestLimiterAcquire_awayClosure(t *testing.T) {
	for _, gone := range []string{"before the request", "before the 429", "after it"} {
		t.Run("redis goes away "+gone, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *testRedis) {
				l := newTestLimiter(t, r, WithShare(1)) // where there are more processes, it is drawn whether one goes
				r.down.Store(gone == "before the request")
				p := acquire(t, l)
				o := respond(http.StatusTooManyRequests, 60, 0, time.Now().Add(30*time.Second))
				o.RetryAfter = time.Hour
				r.down.Store(gone != "after it")
				p.Release(o)
				synctest.Wait()
				r.down.Store(true)
				for range 3 {
					limited := assertRefused(t, l)
					assert.Equal(t, petstore.ScopeBan, limited.Scope)
					assert.WithinDuration(t, o.Received.Add(time.Hour), limited.RetryAt, time.Second)
					elapse(10 * time.Minute)
				}
				elapse(30 * time.Minute)
				acquire(t, l)
				elapse(time.Minute)
			})
		})
	}
}

func TestLimiterAcquire_awayWithoutHeadersSendsOneAtATime(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		r.down.Store(true)
		l := newTestLimiter(t, r)
		start := time.Now()
		for range 20 {
			p := acquire(t, l)
			assertRefused(t, l)
			p.Release(respond(http.StatusOK, 0, 0, time.Time{}))
		}
		assert.Less(t, time.Since(start), time.Second)
	})
}

func TestWithShare_windowGoesOnWhenRedisGoesAway(t *testing.T) {
	for _, window := range []fake.Window{fake.WindowFixed, fake.WindowAligned, fake.WindowSliding} {
		bubble(t, func(t *testing.T, r *testRedis) {
			elapse(17300 * time.Millisecond)
			server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(60, 0)), fake.WithStrict(),
				fake.WithBehavior(fake.Behavior{Window: window}), fake.WithLatency(10*time.Millisecond))
			l := newTestLimiter(t, r, WithShare(1))
			client := server.Client(petstore.WithLimiter(l), petstore.WithMaxWait(time.Hour))
			start := time.Now()
			for i := range 200 { // three windows and a part
				r.down.Store(i > 30)
				require.NoError(t, list(t, client))
			}
			assert.True(t, l.Stats().Away)
			assert.Zero(t, server.Usage(server.APIKey()).Limited)
			assert.Less(t, time.Since(start), 4*time.Minute)
			elapse(time.Minute)
		})
	}
}
