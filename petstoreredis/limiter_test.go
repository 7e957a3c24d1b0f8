package petstoreredis_test

import (
	"context"
	"errors"
	"math"
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
	"github.com/petstore/petstore-go/petstoreredis"
)

// request is that of a call that may wait for ever.
func request() petstore.LimitRequest { return petstore.LimitRequest{MaxWait: math.MaxInt64} }

// acquire returns a permit.
func acquire(t *testing.T, l *petstoreredis.Limiter) petstore.Permit {
	t.Helper()
	p, err := l.Acquire(t.Context(), request())
	require.NoError(t, err)
	return p
}

// waitFor returns the permit that a call gets later.
func waitFor(t *testing.T, l *petstoreredis.Limiter) <-chan petstore.Permit {
	t.Helper()
	permits := make(chan petstore.Permit, 1)
	go func() {
		if p, err := l.Acquire(t.Context(), request()); err == nil {
			permits <- p
		}
	}()
	synctest.Wait()
	return permits
}

// answered is the outcome of a request that was sent and answered now.
func answered(status int, limit petstore.RateLimit, retryAfter time.Duration) petstore.Observation {
	now := time.Now()
	return petstore.Observation{
		Delivery: petstore.DeliveryAnswered, Sent: now, Received: now, StatusCode: status, RateLimit: limit,
		RetryAfter: retryAfter, Date: now.Truncate(time.Second),
	}
}

// left is a rate limit whose window ends in d.
func left(limit, remaining int, d time.Duration) petstore.RateLimit {
	return petstore.RateLimit{Limit: limit, Remaining: remaining, Reset: time.Now().Add(d).Truncate(time.Second).UTC()}
}

// open has a process open a window of a minute with so many requests left.
func open(t *testing.T, l *petstoreredis.Limiter, limit, remaining int) {
	t.Helper()
	acquire(t, l).Release(answered(http.StatusOK, left(limit, remaining, time.Minute), 0))
	synctest.Wait()
}

// refused returns the error of a call that is refused at once.
func refused(t *testing.T, l *petstoreredis.Limiter, r petstore.LimitRequest) *petstore.RateLimitError {
	t.Helper()
	start := time.Now()
	p, err := l.Acquire(t.Context(), r)
	require.Nil(t, p)
	require.ErrorIs(t, err, petstore.ErrRateLimited)
	require.ErrorIs(t, err, petstore.ErrNotSent)
	assert.WithinDuration(t, start, time.Now(), 10*time.Millisecond)
	limited, ok := errors.AsType[*petstore.RateLimitError](err)
	require.True(t, ok)
	return limited
}

func TestNewLimiter_refusesWrongArguments(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{})
	defer rdb.Close()
	for _, test := range []struct {
		rdb  redis.UniversalClient
		name string
		opt  petstoreredis.Option
		want string
	}{
		{nil, "key", petstoreredis.WithShare(1), "rdb: is nil"},
		{(*redis.Client)(nil), "key", petstoreredis.WithShare(1), "rdb: is nil"},
		{rdb, "", petstoreredis.WithShare(1), "name: is empty"},
		{rdb, "key", nil, "opts: has a nil option"},
		{rdb, "key", petstoreredis.WithShare(-1), "WithShare: is negative"},
		{rdb, "key", petstoreredis.WithTimeout(0), "WithTimeout: is not positive"},
		{rdb, "key", petstoreredis.WithKeyPrefix("a{b"), "WithKeyPrefix: has braces"},
	} {
		_, err := petstoreredis.NewLimiter(test.rdb, test.name, test.opt)
		var argument *petstore.ArgumentError
		require.ErrorAs(t, err, &argument)
		assert.ErrorContains(t, err, test.want)
	}
}

func TestNewLimiter_oneReadableKeyThatExpiresAndHidesTheName(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l := r.process(t, petstoreredis.WithKeyPrefix("p:"))
		open(t, l, 60, 59)
		require.NoError(t, l.Flush(t.Context()))
		keys := r.Keys()
		require.Len(t, keys, 1)
		assert.True(t, strings.HasPrefix(keys[0], "p:"+l.Stats().Name))
		assert.Positive(t, r.TTL(keys[0]))
		assert.Less(t, r.TTL(keys[0]), 20*time.Minute)
		fields, err := r.HKeys(keys[0])
		require.NoError(t, err)
		assert.ElementsMatch(t, fields, []string{
			"window", "remaining", "out", "limit", "reset", "ends", "processes", "asked", "claimed", "failures", "at", "scope",
		})
		assert.Equal(t, "59", r.HGet(keys[0], "remaining"))
		assert.NotContains(t, r.Dump(), "the key")
	})
}

func TestLimiterAcquire_oneRequestGoesAheadForTheFleet(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		a, b := r.process(t), r.process(t)
		first := acquire(t, a)
		second := waitFor(t, b)
		time.Sleep(time.Second)
		require.Empty(t, second)
		first.Release(answered(http.StatusOK, left(60, 59, time.Minute), 0))
		start := time.Now()
		<-second
		assert.Less(t, time.Since(start), 2*time.Second)
		assert.Equal(t, 59, b.RateLimit("").Remaining, "known from Redis, not from a response of its own")
		assert.Equal(t, a.RateLimit(""), b.RateLimit(""))
	})
}

func TestLimiterAcquire_neverMorePermitsThanTheLeastRemaining(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		a, b := r.process(t), r.process(t)
		open(t, a, 60, 4)
		p := acquire(t, a)
		acquire(t, b)
		p.Release(answered(http.StatusOK, left(60, 1, time.Minute), 0)) // two of another program
		time.Sleep(2 * time.Second)
		blocked := waitFor(t, b)
		time.Sleep(30 * time.Second)
		assert.Empty(t, blocked, "the one that is left may be for b's request in flight")
		<-blocked
	})
}

func TestLimiterAcquire_refusesWhatWouldWaitTooLong(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		a, b := r.process(t), r.process(t)
		open(t, a, 60, 0)
		end := time.Now().Add(time.Minute)
		for _, l := range []*petstoreredis.Limiter{a, b} {
			limited := refused(t, l, petstore.LimitRequest{MaxWait: 30 * time.Second})
			assert.WithinDuration(t, end, limited.RetryAt, 2*time.Second)
			assert.Equal(t, petstore.ScopeMinute, limited.Scope)
			assert.Equal(t, 60, limited.RateLimit.Limit)
			refused(t, l, petstore.LimitRequest{})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			start := time.Now()
			_, err := l.Acquire(ctx, request())
			require.ErrorIs(t, err, petstore.ErrRateLimited)
			assert.WithinDuration(t, start, time.Now(), 10*time.Millisecond, "it cannot be in time for the deadline")
		}
		start := time.Now()
		acquire(t, b)
		assert.Greater(t, time.Since(start), 55*time.Second)
	})
}

func TestLimiterAcquire_contextEndsWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l, cause := r.process(t), errors.New("the cause")
		open(t, l, 60, 0)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		start := time.Now()
		for range 2 { // the second time before it waits
			_, err := l.Acquire(ctx, request())
			require.ErrorIs(t, err, petstore.ErrRateLimited)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, cause)
			assert.NotContains(t, err.Error(), "\n")
		}
		assert.Equal(t, time.Second, time.Since(start))
		assert.Zero(t, l.Stats().Waiting)
	})
}

func TestLimiterAcquire_a429ClosesTheKeyForAll(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		a, b := r.process(t), r.process(t)
		open(t, a, 60, 50)
		late := acquire(t, b)
		acquire(t, a).Release(answered(http.StatusTooManyRequests, left(60, 0, 20*time.Second), 30*time.Second))
		synctest.Wait()
		start := time.Now()
		assert.Equal(t, petstore.ScopeBan, refused(t, a, petstore.LimitRequest{}).Scope)
		late.Release(answered(http.StatusTooManyRequests, left(60, 0, 20*time.Second), 40*time.Second))
		first, second := waitFor(t, a), waitFor(t, b)
		var probe petstore.Permit
		select {
		case probe = <-first:
		case probe = <-second:
			second = first
		}
		assert.WithinDuration(t, start.Add(40*time.Second), time.Now(), time.Second, "the later Retry-After")
		time.Sleep(time.Second)
		assert.Empty(t, second, "one request goes ahead")
		probe.Release(answered(http.StatusTooManyRequests, petstore.RateLimit{}, 0))
		start = time.Now()
		<-second
		assert.Greater(t, time.Since(start), 100*time.Second, "the second in a row, without Retry-After: two minutes")
	})
}

func TestLimiterAcquire_waitsAreReported(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		server := newService(t, 60)
		l := r.process(t)
		var waits []petstore.Wait
		trace := &petstore.ClientTrace{
			WaitDone: func(_ context.Context, w petstore.Wait) { waits = append(waits, w) },
		}
		client := server.Client(petstore.WithLimiter(l), petstore.WithMaxWait(time.Hour), petstore.WithTrace(trace))
		for range 61 {
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
		}
		require.Len(t, waits, 1)
		assert.Equal(t, petstore.WaitMinute, waits[0].Reason)
		assert.Equal(t, 1, waits[0].Waiting)
		assert.InDelta(t, 60, waits[0].Duration.Seconds(), 2)
		assert.WithinDuration(t, time.Now(), waits[0].Until, 2*time.Second)
	})
}

func TestLimiterAcquire_aTraceThatPanicsKeepsNoPermit(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l, boom := r.process(t), func() { panic("boom") }
		for _, trace := range []*petstore.ClientTrace{
			{WaitStart: func(context.Context, petstore.Wait) { boom() }},
			{WaitDone: func(context.Context, petstore.Wait) { boom() }},
		} {
			open(t, l, 60, 0)
			client := newService(t, 60).Client(petstore.WithLimiter(l), petstore.WithTrace(trace))
			assert.Panics(t, func() { _, _ = client.ListPets(t.Context(), petstore.ListPetsParams{}) })
			assert.Zero(t, l.Stats().Waiting)
			assert.Zero(t, l.Stats().InFlight)
		}
	})
}

func TestLimiterAcquire_aRetriedCallKeepsItsPlaceAndBackgroundGoesLast(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l := r.process(t)
		asked := time.Now()
		time.Sleep(time.Second)
		open(t, l, 60, 0)
		order := make(chan string, 3)
		for name, req := range map[string]petstore.LimitRequest{
			"retried": {Asked: asked}, "new": {Asked: time.Now()},
			"background": {Asked: asked, Call: petstore.Call{Background: true}},
		} {
			req.MaxWait = time.Hour
			go func() {
				p, err := l.Acquire(t.Context(), req)
				if assert.NoError(t, err) {
					order <- name
					p.Release(answered(http.StatusOK, left(60, 1, time.Minute), 0))
				}
			}()
		}
		assert.Equal(t, []string{"retried", "new", "background"}, []string{<-order, <-order, <-order})
	})
}

func TestPermitRelease_oneRequestAfterAnotherUntilThereIsAResponse(t *testing.T) {
	sent := petstore.Observation{Delivery: petstore.DeliveryNoResponse}
	abandoned := sent
	abandoned.Abandoned = true
	for name, test := range map[string]struct {
		o           petstore.Observation
		least, most time.Duration
	}{
		"nothing was sent":           {petstore.Observation{Delivery: petstore.DeliveryNotSent}, 0, time.Second},
		"the caller gave up":         {abandoned, 0, time.Second},
		"no response, four in a row": {sent, time.Second, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *virtualRedis) {
				a, b := r.process(t), r.process(t)
				start := time.Now()
				for range 4 {
					acquire(t, a).Release(test.o)
					synctest.Wait()
				}
				acquire(t, b)
				assert.GreaterOrEqual(t, time.Since(start), test.least)
				assert.LessOrEqual(t, time.Since(start), test.most)
			})
		})
	}
}

func TestLimiterAcquire_aSlowRequestIsFollowedByAnother(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		acquire(t, r.process(t)) // gets no response; its process may be dead
		start := time.Now()
		acquire(t, r.process(t))
		assert.WithinRange(t, time.Now(), start.Add(2*time.Second), start.Add(6*time.Second))
	})
}

func TestLimiterAcquire_withoutTheHeadersTwoAtATime(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l := r.process(t)
		acquire(t, l).Release(answered(http.StatusOK, petstore.RateLimit{}, 0))
		p := acquire(t, l)
		acquire(t, l)
		third := waitFor(t, l)
		time.Sleep(10 * time.Second)
		require.Empty(t, third)
		p.Release(answered(http.StatusBadGateway, petstore.RateLimit{}, 0))
		<-third
	})
}

func TestLimiterAcquire_daysAndOddWindows(t *testing.T) {
	t.Run("what a dead process holds of the day comes back within a minute", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *virtualRedis) {
			a, b := r.process(t), r.process(t)
			acquire(t, a).Release(answered(http.StatusOK, left(1000, 3, 10*time.Hour), 0))
			for range 3 {
				acquire(t, a) // and dies
			}
			start := time.Now()
			acquire(t, b).Release(answered(http.StatusOK, left(1000, 2, 10*time.Hour), 0))
			assert.Less(t, time.Since(start), 65*time.Second)
			acquire(t, b)
		})
	})
	t.Run("a day that is used up counts, also when one command reports a minute before it", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *virtualRedis) {
			l := r.process(t)
			open(t, l, 60, 50)
			minute, day := acquire(t, l), acquire(t, l)
			minute.Release(answered(http.StatusOK, left(60, 49, time.Minute), 0))
			day.Release(answered(http.StatusOK, left(1000, 0, 10*time.Hour), 0))
			time.Sleep(time.Second)
			assert.Equal(t, petstore.ScopeDay, refused(t, l, petstore.LimitRequest{MaxWait: time.Hour}).Scope)
		})
	})
	t.Run("a Reset of no use counts as a minute, and a clock of the service that is off does not matter", func(t *testing.T) {
		for _, test := range []struct{ reset, ahead, want time.Duration }{
			{-time.Hour, 0, time.Minute}, {1000 * time.Hour, 0, time.Minute}, {30 * 365 * 24 * time.Hour, 0, time.Minute},
			{30 * time.Second, 5 * time.Hour, 30 * time.Second}, {30 * time.Second, -5 * time.Hour, 30 * time.Second},
		} {
			bubble(t, func(t *testing.T, r *virtualRedis) {
				l := r.process(t)
				o := answered(http.StatusOK, left(60, 0, test.reset+test.ahead), 0)
				o.Date = o.Date.Add(test.ahead)
				acquire(t, l).Release(o)
				start := time.Now()
				acquire(t, l)
				assert.WithinDuration(t, start.Add(test.want), time.Now(), 2*time.Second)
			})
		}
	})
	t.Run("a plan that is lowered counts at once, a higher one from the next window", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *virtualRedis) {
			a, b := r.process(t), r.process(t)
			open(t, a, 300, 200)
			acquire(t, a).Release(answered(http.StatusOK, left(60, 0, time.Minute), 0))
			time.Sleep(2 * time.Second)
			start := time.Now()
			acquire(t, b).Release(answered(http.StatusOK, left(1000, 999, time.Minute), 0))
			assert.Greater(t, time.Since(start), 50*time.Second)
			synctest.Wait()
			acquire(t, a)
			assert.Equal(t, 1000, a.RateLimit("").Limit)
		})
	})
}

func TestLimiterReopen_allProcessesKnowWithinTenSeconds(t *testing.T) {
	for name, reopen := range map[string]func(r *virtualRedis, l *petstoreredis.Limiter){
		"Reopen":         func(_ *virtualRedis, l *petstoreredis.Limiter) { l.Reopen("") },
		"DEL of the key": func(r *virtualRedis, _ *petstoreredis.Limiter) { r.Del(r.Keys()[0]) },
	} {
		for what, closing := range map[string]func() petstore.Observation{
			"day": func() petstore.Observation { return answered(http.StatusOK, left(1000, 0, 10*time.Hour), 0) },
			"banned": func() petstore.Observation {
				return answered(http.StatusTooManyRequests, left(60, 0, time.Minute), time.Hour)
			},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				bubble(t, func(t *testing.T, r *virtualRedis) {
					a, b, c := r.process(t), r.process(t), r.process(t)
					acquire(t, a).Release(closing())
					synctest.Wait()
					refused(t, a, petstore.LimitRequest{MaxWait: time.Minute})
					refused(t, b, petstore.LimitRequest{MaxWait: time.Minute})
					waiting := waitFor(t, b)
					time.Sleep(10 * time.Minute)
					require.Empty(t, waiting)
					refused(t, c, petstore.LimitRequest{MaxWait: time.Minute})
					start := time.Now()
					reopen(r, c)
					probe := <-waiting
					probe.Release(answered(http.StatusOK, left(1000, 900, time.Minute), 0))
					for _, l := range []*petstoreredis.Limiter{a, b, c} {
						for _, err := l.Acquire(t.Context(), petstore.LimitRequest{}); err != nil; {
							time.Sleep(time.Second / 2)
							_, err = l.Acquire(t.Context(), petstore.LimitRequest{})
						}
					}
					assert.LessOrEqual(t, time.Since(start), 10*time.Second)
				})
			})
		}
	}
}

// A pot that the script has not written, or that is older than a process knows, begins with one
// request, and what the response says counts.
func TestLimiterAcquire_junkInRedisIsBegunAfresh(t *testing.T) {
	for name, spoil := range map[string]func(r *virtualRedis, key string){
		"a string":        func(r *virtualRedis, key string) { r.Del(key); _ = r.Set(key, "junk") },
		"a list":          func(r *virtualRedis, key string) { r.Del(key); _, _ = r.Push(key, "junk") },
		"text":            func(r *virtualRedis, key string) { r.HSet(key, "remaining", "junk") },
		"not a number":    func(r *virtualRedis, key string) { r.HSet(key, "out", "nan") },
		"negative":        func(r *virtualRedis, key string) { r.HSet(key, "window", "-1") },
		"without end":     func(r *virtualRedis, key string) { r.HSet(key, "ends", "inf") },
		"closed for ever": func(r *virtualRedis, key string) { r.HSet(key, "remaining", "0", "ends", "99999999999999") },
		"a field missing": func(r *virtualRedis, key string) { r.HDel(key, "limit") },
		"of the future":   func(r *virtualRedis, key string) { r.HSet(key, "at", "9946684861000") },
		"older":           func(r *virtualRedis, key string) { r.HSet(key, "at", "946684700000") },
		"gone":            func(r *virtualRedis, key string) { r.Del(key) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *virtualRedis) {
				l := r.process(t)
				open(t, l, 60, 40)
				require.NoError(t, l.Flush(t.Context()))
				spoil(r, r.Keys()[0])
				probe, second := acquire(t, l), waitFor(t, l)
				require.Empty(t, second, "one request goes ahead")
				probe.Release(answered(http.StatusOK, left(60, 39, time.Minute), 0))
				start := time.Now()
				<-second
				assert.Less(t, time.Since(start), time.Second)
				assert.Equal(t, 39, l.RateLimit("").Remaining)
			})
		})
	}
}

func TestLimiterAcquire_aFleetUsesUpTheDayWithoutOne429(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		service := fake.NewTestServer(t, fake.WithPlan(fake.Plan{PerMinute: 60, PerDay: 100}), fake.WithLatency(100*time.Millisecond))
		var group sync.WaitGroup
		for range 8 {
			l := r.process(t)
			client := service.Client(petstore.WithLimiter(l), petstore.WithMaxWait(2*time.Minute))
			for range 4 {
				group.Go(func() {
					for t.Context().Err() == nil {
						if _, err := client.ListPets(t.Context(), petstore.ListPetsParams{}); err != nil {
							limited, ok := errors.AsType[*petstore.RateLimitError](err)
							assert.True(t, ok && limited.Scope == petstore.ScopeDay, "%v", err)
							return
						}
					}
				})
			}
		}
		group.Wait()
		assert.Equal(t, 100, len(service.Requests()))
		assert.Zero(t, service.Usage(service.APIKey()).Limited)
	})
}

// What a process has drawn is lost with it until the end of the window, so that it must be little.
func TestLimiterAcquire_aProcessThatDiesHoldsFewPermits(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l := r.process(t)
		open(t, l, 300, 299)
		for i := range 40 {
			acquire(t, l).Release(answered(http.StatusOK, left(300, 298-i, time.Minute), 0))
			assert.LessOrEqual(t, l.Stats().Held, 299/4)
		}
		assert.Less(t, l.Stats().RoundTrips, 20, "but it draws several at once")
		last := acquire(t, l)
		require.Positive(t, l.Stats().Held)
		last.Release(answered(http.StatusOK, left(300, 0, time.Minute), 0)) // another program used the rest
		time.Sleep(500 * time.Millisecond)
		assert.Zero(t, l.Stats().Held)
	})
}
