package petstoreredis

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
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

// bubble runs a test in virtual time, with a Redis that takes none to answer.
func bubble(t *testing.T, f func(t *testing.T, r *testRedis)) {
	t.Helper()
	r := newTestRedis(t)
	synctest.Test(t, func(t *testing.T) { f(t, r) })
}

// answer is an observation of a request that was sent now and answered a little later, in a window that ends at end.
func answer(status, limit, remaining int, end time.Time) petstore.Observation {
	sent := time.Now()
	time.Sleep(10 * time.Millisecond)
	return petstore.Observation{
		Sent: sent, Received: time.Now(), StatusCode: status,
		RateLimit: petstore.RateLimit{Limit: limit, Remaining: remaining, Reset: end},
		Date:      time.Now().Truncate(time.Second),
	}
}

// elapse lets time pass, and what was due in it be done.
func elapse(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// lost is an observation of a request that was sent now and never answered.
func lost() petstore.Observation { return petstore.Observation{Sent: time.Now()} }

func acquire(t *testing.T, l petstore.Limiter) petstore.Permit {
	t.Helper()
	p, err := l.Acquire(t.Context(), time.Minute)
	require.NoError(t, err)
	return p
}

// assertRefused checks that a call is not admitted at once. Without a limit that refuses it, it would wait for a
// response for as long as its context allows.
func assertRefused(t *testing.T, l petstore.Limiter) petstore.RateLimitError {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := l.Acquire(ctx, 0)
	require.ErrorIs(t, err, petstore.ErrRateLimited)
	limited, ok := errors.AsType[*petstore.RateLimitError](err)
	require.True(t, ok)
	assert.True(t, limited.Local)
	return *limited
}

// open shows l a window of which so much is left, by two requests: the first goes ahead, and the second alone.
func open(t *testing.T, l petstore.Limiter, limit, remaining int) time.Time {
	t.Helper()
	end := time.Now().Truncate(time.Second).Add(time.Minute).UTC()
	for _, n := range []int{remaining + 1, remaining} {
		acquire(t, l).Release(answer(http.StatusOK, limit, n, end))
		synctest.Wait()
	}
	return end
}

func TestOneRequestGoesAheadForTheFleet(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		a, b := newTestLimiter(t, r), newTestLimiter(t, r)
		first := acquire(t, a)
		assertRefused(t, a)
		assertRefused(t, b)
		first.Release(answer(http.StatusOK, 60, 59, time.Now().Add(time.Minute).Truncate(time.Second).UTC()))
		synctest.Wait()
		acquire(t, b)
		assert.Equal(t, 59, b.RateLimit().Remaining, "told by Redis, not by an answer of its own")
		assert.Equal(t, b.RateLimit(), a.RateLimit())
	})
}

func TestNoMoreAreOnTheirWayThanRemain(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		a, b := newTestLimiter(t, r), newTestLimiter(t, r)
		end := open(t, a, 5, 3)
		permits := []petstore.Permit{acquire(t, a), acquire(t, b), acquire(t, a)}
		assertRefused(t, a)
		assertRefused(t, b)
		// Whatever the order in which they come back, the lowest holds.
		permits[0].Release(answer(http.StatusOK, 5, 0, end))
		permits[2].Release(answer(http.StatusOK, 5, 2, end))
		assertRefused(t, a)
		assertRefused(t, b)
		permits[1].Release(answer(http.StatusOK, 5, 1, end))
		elapse(holdFor)
		limited := assertRefused(t, b)
		assert.Equal(t, petstore.ScopeMinute, limited.Scope)
		assert.WithinDuration(t, end, limited.RetryAt, resetGrain+50*time.Millisecond)
	})
}

const resetGrain = time.Second

func TestPermitThatWasNotUsedGoesBack(t *testing.T) {
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

func TestFlushTellsAndGivesBackAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		a, b := newTestLimiter(t, r), newTestLimiter(t, r)
		end := open(t, a, 10, 8)
		acquire(t, a).Release(answer(http.StatusOK, 10, 7, end)) // and more in reserve
		require.NoError(t, a.Flush(t.Context()))
		for range 7 {
			_, err := b.Acquire(t.Context(), time.Millisecond)
			require.NoError(t, err)
		}
		assertRefused(t, a)
		r.down.Store(true)
		require.ErrorContains(t, a.Flush(t.Context()), "petstoreredis: flush: ")
		elapse(2 * time.Minute)
		acquire(t, a)
		require.NoError(t, a.Flush(t.Context()), "while Redis is away there is nothing to tell it")
	})
}

func TestFlushIsTheLastWord(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		a, b := newTestLimiter(t, r), newTestLimiter(t, r)
		o := answer(http.StatusTooManyRequests, 100, 50, open(t, a, 100, 98))
		o.RetryAfter = 20 * time.Second
		r.latency = 40 * time.Millisecond
		acquire(t, a).Release(o) // which is told at once
		synctest.Wait()
		r.latency = 0
		require.NoError(t, a.Flush(t.Context()))
		a.pretend(true) // its process has ended
		assertRefused(t, b)
	})
}

func TestRequestWithoutAnAnswerCountsAsSpent(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		a, b := newTestLimiter(t, r), newTestLimiter(t, r)
		open(t, a, 4, 2)
		acquire(t, a).Release(lost())
		elapse(time.Second)
		p := acquire(t, b)
		assertRefused(t, a)
		assertRefused(t, b)
		p.Release(petstore.Observation{})
	})
}

func TestClosureHoldsForTheFleetAndOneProbeEndsIt(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		a, b := newTestLimiter(t, r), newTestLimiter(t, r)
		end := open(t, a, 100, 98)
		rejected := answer(http.StatusTooManyRequests, 100, 50, end)
		rejected.RetryAfter = 20 * time.Second
		acquire(t, a).Release(rejected)
		synctest.Wait() // until Redis has been told
		opens := rejected.Received.Add(rejected.RetryAfter)
		limited := assertRefused(t, b)
		assert.WithinDuration(t, opens, limited.RetryAt, 20*time.Millisecond)
		var probes []petstore.Permit
		for range 2 {
			p := acquire(t, b)
			assert.False(t, time.Now().Before(opens))
			probes = append(probes, p)
			assertRefused(t, a)
			assertRefused(t, b)
			if len(probes) == 1 {
				p.Release(petstore.Observation{}) // never left: another may go
			}
		}
		probes[1].Release(answer(http.StatusOK, 100, 40, end))
		synctest.Wait()
		acquire(t, a)
		acquire(t, b)
	})
}

func TestClosuresInARowBackOff(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		l := newTestLimiter(t, r)
		open(t, l, 100, 98)
		var waits []time.Duration
		for range 5 {
			start := time.Now()
			p := acquire(t, l)
			waits = append(waits, time.Since(start).Truncate(time.Second))
			o := answer(http.StatusTooManyRequests, 100, 50, time.Now().Add(time.Minute))
			o.RetryAfter = time.Second
			p.Release(o)
		}
		assert.Equal(t, []time.Duration{0, 1, 1, 2, 4}, []time.Duration{
			waits[0] / time.Second, waits[1] / time.Second, waits[2] / time.Second, waits[3] / time.Second, waits[4] / time.Second,
		})
	})
}

func TestLongClosureFailsAtOnceAndAsksRedisNowAndThen(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(100, 5)))
		var clients []*petstore.Client
		for range 2 {
			clients = append(clients, server.Client(petstore.WithLimiter(newTestLimiter(t, r))))
		}
		for i := range 5 {
			_, err := clients[i%2].ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
		}
		elapse(time.Second)
		for _, client := range clients {
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			limited, ok := errors.AsType[*petstore.RateLimitError](err)
			require.True(t, ok, "%v", err)
			assert.Equal(t, petstore.ScopeDay, limited.Scope)
			assert.WithinDuration(t, time.Now().Add(24*time.Hour), limited.RetryAt, 10*time.Second)
		}
		trips := r.trips.Load()
		for range 100 {
			for _, client := range clients {
				start := time.Now()
				_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
				require.ErrorIs(t, err, petstore.ErrRateLimited)
				assert.Zero(t, time.Since(start))
			}
			elapse(time.Minute)
		}
		assert.LessOrEqual(t, r.trips.Load()-trips, int64(202), "round trips: each process looks now and then")
		server.AssertRequests(t, "", 5)
	})
}

func TestBanIsOneForTheFleet(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		server := fake.NewTestServer(t, fake.WithStrict())
		a := server.Client(petstore.WithLimiter(newTestLimiter(t, r)))
		b := server.Client(petstore.WithLimiter(newTestLimiter(t, r)))
		server.BanKey(server.APIKey(), time.Hour)
		for _, client := range []*petstore.Client{a, b, a, b} {
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			limited, ok := errors.AsType[*petstore.RateLimitError](err)
			require.True(t, ok, "%v", err)
			assert.WithinDuration(t, time.Now().Add(time.Hour), limited.RetryAt, 2*time.Second)
		}
		server.AssertRequests(t, "", 1)
		elapse(time.Hour + time.Second)
		_, err := b.ListPets(t.Context(), petstore.ListPetsParams{})
		assert.NoError(t, err)
	})
}

func TestServiceWithoutHeadersSeesFewAtATime(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		a, b := newTestLimiter(t, r), newTestLimiter(t, r)
		acquire(t, a).Release(answer(http.StatusOK, 0, 0, time.Time{}))
		synctest.Wait()
		p := acquire(t, a)
		acquire(t, b)
		assertRefused(t, a)
		assertRefused(t, b)
		p.Release(answer(http.StatusOK, 0, 0, time.Time{}))
		synctest.Wait()
		acquire(t, b)
		assert.Zero(t, b.RateLimit())
	})
}

func TestWaitThatDoesNotFitIsNotBegun(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		l := newTestLimiter(t, r)
		end := open(t, l, 60, 0)
		start := time.Now()
		_, err := l.Acquire(t.Context(), 10*time.Second)
		require.ErrorIs(t, err, petstore.ErrRateLimited)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err = l.Acquire(ctx, time.Hour)
		require.ErrorIs(t, err, petstore.ErrRateLimited)
		assert.Zero(t, time.Since(start))
		acquire(t, l)
		assert.False(t, time.Now().Before(end))
	})
}

func TestWaitBehindMoreProcessesThanCanBeServedIsNotBegun(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		a, b, c := newTestLimiter(t, r), newTestLimiter(t, r), newTestLimiter(t, r)
		end := open(t, a, 60, 1)
		p := acquire(t, a)
		go func() { _, _ = b.Acquire(t.Context(), time.Minute) }()
		elapse(10 * time.Millisecond)
		start := time.Now()
		_, err := c.Acquire(t.Context(), 10*time.Second)
		limited, ok := errors.AsType[*petstore.RateLimitError](err)
		require.True(t, ok, "%v", err)
		assert.WithinDuration(t, end, limited.RetryAt, 2*resetGrain)
		assert.Equal(t, petstore.ScopeMinute, limited.Scope)
		assert.Equal(t, 1, limited.RateLimit.Remaining, "as the service says")
		assert.Zero(t, time.Since(start))
		p.Release(petstore.Observation{})
		elapse(holdFor + time.Second)
		assert.Equal(t, 1, b.inFlight, "the one that has waited for longer has got what came back")
		elapse(2 * time.Minute)
	})
}

func TestCallerWhoseContextEndsLeavesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		l := newTestLimiter(t, r)
		open(t, l, 60, 0)
		cause := errors.New("no longer wanted")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		start := time.Now()
		_, err := l.Acquire(ctx, time.Hour)
		assert.Equal(t, time.Second, time.Since(start))
		require.ErrorIs(t, err, petstore.ErrRateLimited)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, cause)
		assert.NotContains(t, err.Error(), "\n")
		_, err = l.Acquire(ctx, time.Hour)
		require.ErrorIs(t, err, cause)
		assert.Zero(t, l.queue.len())
	})
}

func TestCallsAreServedInTheirOrder(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		l := newTestLimiter(t, r)
		acquire(t, l).Release(answer(http.StatusOK, 0, 0, time.Time{})) // no headers: two at a time
		var mu sync.Mutex
		var order []int
		for i := range 50 {
			go func() {
				p, err := l.Acquire(t.Context(), time.Minute)
				if !assert.NoError(t, err) {
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				p.Release(answer(http.StatusOK, 0, 0, time.Time{}))
			}()
			synctest.Wait()
		}
		elapse(time.Minute)
		require.Len(t, order, 50)
		for i, n := range order {
			assert.InDelta(t, i, n, 1)
		}
	})
}

func TestRetriedCallGoesBeforeNewcomers(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(10, 0)))
		client := server.Client(petstore.WithLimiter(newTestLimiter(t, r)), petstore.WithMaxWait(time.Hour))
		server.Inject(fake.Fault{Operation: fake.OpCreatePet, Status: http.StatusTooManyRequests, RetryAfter: "5"})
		var mu sync.Mutex
		var order []string
		call := func(name string, f func() error) {
			go func() {
				assert.NoError(t, f())
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
			}()
			synctest.Wait()
		}
		call("retried", func() error {
			_, err := client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
			return err
		})
		for range 3 {
			call("new", func() error {
				_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
				return err
			})
		}
		elapse(time.Minute)
		assert.Equal(t, []string{"retried", "new", "new", "new"}, order)
	})
}

// pretend makes a limiter silent, as if its process had been stopped, or lets it go on.
func (l *Limiter) pretend(stopped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = stopped
}

func TestDeadWorkersLeaseComesBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		dead, alive := newTestLimiter(t, r, WithLease(time.Second)), newTestLimiter(t, r, WithLease(time.Second))
		end := open(t, alive, 20, 18)
		for range 10 {
			go func() { _, _ = dead.Acquire(t.Context(), time.Minute) }()
		}
		synctest.Wait()
		dead.pretend(true)
		left := 18 - dead.inFlight - len(dead.unused)
		require.Less(t, left, 15)
		for i := range left {
			acquire(t, alive).Release(answer(http.StatusOK, 20, 17-i, end))
			if i == left-4 {
				elapse(2100 * time.Millisecond) // the lease, and what may have been on its way
			}
		}
		// The service has never seen those of the dead, as the last answer shows: all of them are there again.
		for i := range 18 - left {
			start := time.Now()
			acquire(t, alive).Release(answer(http.StatusOK, 20, 17-left-i, end))
			assert.Less(t, time.Since(start), 2*time.Second)
		}
		assertRefused(t, alive)
	})
}

func TestWorkerThatWasStoppedFindsItsPermitsVoid(t *testing.T) {
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
		_, err := l.Acquire(t.Context(), time.Second)
		require.NoError(t, err)
		assert.Equal(t, time.Now(), l.sentAt, "Redis was asked again")
	})
}

func TestNothingRunsAtRest(t *testing.T) {
	r := newTestRedis(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree))
		l := newTestLimiter(t, r)
		client := server.Client(petstore.WithLimiter(l))
		for range 20 {
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
		}
		elapse(10 * time.Second)
		assert.Nil(t, l.timer)
		assert.False(t, l.busy)
		trips := r.trips.Load()
		elapse(time.Hour)
		assert.Equal(t, trips, r.trips.Load())
	})
}

func TestKeysShareASlotExpireAndDoNotTellTheName(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		const secret = "sk_live_0123456789"
		var logged strings.Builder
		l, err := NewLimiter(r.client(t), secret, WithKeyPrefix("shop:"),
			WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
		require.NoError(t, err)
		acquire(t, l).Release(answer(http.StatusOK, 60, 0, time.Now().Add(time.Minute)))
		synctest.Wait()
		go func() { _, _ = l.Acquire(t.Context(), time.Minute) }()
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
		_, err = l.Acquire(t.Context(), 0)
		synctest.Wait()
		assert.NotContains(t, r.Dump()+logged.String()+errorText(err), secret)
		assert.NotEmpty(t, logged.String())
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestFleetGoesOnWhenRedisHasDroppedAKey(t *testing.T) {
	for _, names := range [][]string{{"state"}, {"leases"}, {"held"}, {"queue"}, {"leases", "held"}} {
		t.Run(strings.Join(names, " and "), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *testRedis) {
				start := time.Now()
				server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(20, 0)), fake.WithStrict())
				client := server.Client(petstore.WithLimiter(newTestLimiter(t, r)), petstore.WithMaxWait(time.Hour))
				for i := range 50 {
					_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
					require.NoError(t, err)
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

func TestClockOfRedisMayGoBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		l := newTestLimiter(t, r)
		end := open(t, l, 60, 0)
		go func() { // a replica has taken over, whose clock is behind
			for range 300 {
				r.SetTime(time.Now().Add(-time.Hour))
				time.Sleep(time.Second)
			}
		}()
		p, err := l.Acquire(t.Context(), time.Hour)
		require.NoError(t, err)
		assert.WithinDuration(t, end, time.Now(), 65*time.Second, "what had passed since the last command is not known")
		p.Release(petstore.Observation{})
		elapse(5 * time.Minute)
	})
}

func TestBadArgumentsAreRefused(t *testing.T) {
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
