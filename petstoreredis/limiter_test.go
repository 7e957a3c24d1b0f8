package petstoreredis

import (
	"context"
	"crypto/fips140"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestPermitRelease_unusedPermitGoesBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		a, b := newTestLimiter(t, r), newTestLimiter(t, r)
		open(t, a, 3, 1)
		p := acquire(t, a)
		assertRefused(t, b)
		p.Release(petstore.Observation{})
		p.Release(petstore.Observation{}) // a second time counts for nothing
		start := time.Now()
		acquire(t, b)
		assert.LessOrEqual(t, time.Since(start), 2*holdFor, "the other process has it soon")
		assertRefused(t, a)
	})
}

func TestLimiterFlush_reportsAndGivesBackAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		a, b := newTestLimiter(t, r), newTestLimiter(t, r)
		end := open(t, a, 10, 8)
		acquire(t, a).Release(respond(http.StatusOK, 10, 7, end)) // and more in reserve
		require.NoError(t, a.Flush(t.Context()))
		for range 7 {
			_, err := b.Acquire(t.Context(), petstore.LimitRequest{MaxWait: time.Millisecond})
			require.NoError(t, err)
		}
		assertRefused(t, a)
		r.down.Store(true)
		require.ErrorContains(t, a.Flush(t.Context()), "petstoreredis: flush: ")
		assert.True(t, a.Stats().Away, "the next call need not find out")
		require.NoError(t, a.Flush(t.Context()), "while Redis is away there is nothing to do")
	})
}

func TestLimiterFlush_waitsForTheCommandOnItsWay(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		a, b := newTestLimiter(t, r), newTestLimiter(t, r)
		o := respond(http.StatusTooManyRequests, 100, 0, open(t, a, 100, 98))
		o.RetryAfter = 20 * time.Second
		r.setLatency(40 * time.Millisecond)
		acquire(t, a).Release(o) // which Redis learns at once
		synctest.Wait()
		r.setLatency(0)
		require.NoError(t, a.Flush(t.Context()))
		a.pretend(true) // its process has ended
		assertRefused(t, b)
	})
}

func TestWithLease_permitsOfADeadProcessComeBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		dead, alive := newTestLimiter(t, r, WithLease(time.Second)), newTestLimiter(t, r, WithLease(time.Second))
		end := open(t, alive, 20, 18)
		for range 10 {
			go func() { _, _ = dead.Acquire(t.Context(), petstore.LimitRequest{MaxWait: time.Minute}) }()
		}
		synctest.Wait()
		dead.pretend(true)
		left := 18 - dead.inFlight - len(dead.unused)
		require.Less(t, left, 15)
		for i := range left {
			acquire(t, alive).Release(respond(http.StatusOK, 20, 17-i, end))
			if i == left-4 {
				elapse(2100 * time.Millisecond) // the lease, and what may have been on its way
			}
		}
		// The service has never seen those of the dead, as the last response shows: all of them are
		// there again.
		for i := range 18 - left {
			start := time.Now()
			acquire(t, alive).Release(respond(http.StatusOK, 20, 17-left-i, end))
			assert.Less(t, time.Since(start), 2*time.Second)
		}
		assertRefused(t, alive)
	})
}

func TestWithLease_permitsOfAStoppedProcessAreVoid(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		l := newTestLimiter(t, r, WithLease(time.Second))
		open(t, l, 100, 98)
		for range 5 {
			acquire(t, l)
		}
		require.NotEmpty(t, l.unused)
		l.pretend(true)
		elapse(2 * time.Second)
		l.pretend(false)
		_, err := l.Acquire(t.Context(), petstore.LimitRequest{MaxWait: time.Second})
		require.NoError(t, err)
		assert.Equal(t, time.Now(), l.sentAt, "Redis was asked again")
	})
}

func TestLimiter_nothingRunsAtRest(t *testing.T) {
	r := newTestRedis(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree))
		l := newTestLimiter(t, r)
		client := server.Client(petstore.WithLimiter(l))
		for range 20 {
			require.NoError(t, list(t, client))
		}
		elapse(10 * time.Second)
		_, due := l.due()
		assert.False(t, due)
		assert.False(t, l.busy)
		trips := l.Stats().RoundTrips
		elapse(time.Hour)
		assert.Equal(t, trips, l.Stats().RoundTrips)
	})
}

func TestNewLimiter_keysShareASlotExpireAndHideTheName(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		const secret = "sk_live_0123456789"
		var logged strings.Builder
		l, err := NewLimiter(r.client(t), secret, WithKeyPrefix("shop:"),
			WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
		require.NoError(t, err)
		acquire(t, l).Release(respond(http.StatusOK, 60, 0, time.Now().Add(time.Minute)))
		synctest.Wait()
		go func() { _, _ = l.Acquire(t.Context(), petstore.LimitRequest{MaxWait: time.Minute}) }()
		synctest.Wait()
		keys := r.Keys()
		require.Len(t, keys, 4)
		slot := keys[0][:strings.Index(keys[0], "}")+1]
		for _, key := range keys {
			assert.True(t, strings.HasPrefix(key, slot), key)
			assert.Positive(t, r.TTL(key), key)
		}
		r.down.Store(true)
		elapse(time.Minute)
		_, err = l.Acquire(t.Context(), petstore.LimitRequest{})
		synctest.Wait()
		assert.NotContains(t, r.Dump()+logged.String()+errorText(err), secret)
		assert.NotEmpty(t, logged.String())
	})
}

func TestLimiterAcquire_redisHasDroppedAKey(t *testing.T) {
	for _, names := range [][]string{{"state"}, {"leases"}, {"held"}, {"queue"}, {"leases", "held"}} {
		t.Run(strings.Join(names, " and "), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *testRedis) {
				start := time.Now()
				server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(20, 0)), fake.WithStrict())
				client := server.Client(petstore.WithLimiter(newTestLimiter(t, r)), petstore.WithMaxWait(time.Hour))
				for i := range 50 {
					require.NoError(t, list(t, client))
					if i%7 == 0 {
						for _, key := range r.Keys() {
							if slices.Contains(names, key[strings.LastIndex(key, ":")+1:]) {
								r.Del(key)
							}
						}
					}
				}
				assert.Zero(t, server.Usage(server.APIKey()).Limited)
				assert.LessOrEqual(t, time.Since(start), 3*time.Minute)
			})
		})
	}
}

func TestLimiterAcquire_clockOfRedisGoesBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		l := newTestLimiter(t, r)
		end := open(t, l, 60, 0)
		go func() { // a replica has taken over, whose clock is behind
			for range 300 {
				r.SetTime(time.Now().Add(-time.Hour))
				time.Sleep(time.Second)
			}
		}()
		p, err := l.Acquire(t.Context(), petstore.LimitRequest{MaxWait: time.Hour})
		require.NoError(t, err)
		assert.WithinDuration(t, end, time.Now(), 65*time.Second, "what had passed since the last command is not known")
		p.Release(petstore.Observation{})
		elapse(5 * time.Minute)
	})
}

func TestNewLimiter_badArguments(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{})
	defer func() { _ = rdb.Close() }()
	for want, f := range map[string]func() (*Limiter, error){
		"rdb: is nil":             func() (*Limiter, error) { return NewLimiter(nil, "key") },
		"name: is empty":          func() (*Limiter, error) { return NewLimiter(rdb, "") },
		"opts: has a nil option":  func() (*Limiter, error) { return NewLimiter(rdb, "key", nil) },
		"WithShare: is negative":  func() (*Limiter, error) { return NewLimiter(rdb, "key", WithShare(-1)) },
		"WithTimeout: is not":     func() (*Limiter, error) { return NewLimiter(rdb, "key", WithTimeout(0)) },
		"WithLease: is less than": func() (*Limiter, error) { return NewLimiter(rdb, "key", WithLease(time.Millisecond)) },
		"WithLease: is more than": func() (*Limiter, error) { return NewLimiter(rdb, "key", WithLease(25*time.Hour)) },
		"WithKeyPrefix: has":      func() (*Limiter, error) { return NewLimiter(rdb, "key", WithKeyPrefix("{a}")) },
	} {
		l, err := f()
		assert.Nil(t, l)
		_, ok := errors.AsType[*petstore.ArgumentError](err)
		assert.True(t, ok, "%v", err)
		assert.ErrorContains(t, err, want)
	}
	var none *redis.Client
	_, err := NewLimiter(none, "key")
	assert.ErrorContains(t, err, "rdb: is nil")
}

// The mode is chosen at the start of a process. The Redis in memory needs SHA-1 in it: here there is
// none.
func TestLimiter_worksInFIPSOnlyMode(t *testing.T) {
	if !fips140.Enforced() {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
		again.Env = append(os.Environ(), "GODEBUG=fips140=only")
		output, err := again.CombinedOutput()
		require.NoError(t, err, "%s", output)
		return
	}
	nobody := func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }
	rdb := redis.NewClient(&redis.Options{Dialer: nobody, MaxRetries: -1})
	defer func() { _ = rdb.Close() }()
	l, err := NewLimiter(rdb, "key")
	require.NoError(t, err)
	acquire(t, l).Release(petstore.Observation{})
	assert.True(t, l.Stats().Away)
}
