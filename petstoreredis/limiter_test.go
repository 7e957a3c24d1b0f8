package petstoreredis_test

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
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
	rdb := redis.NewClient(&redis.Options{})
	defer rdb.Close()
	_, withoutRedis := petstoreredis.NewLimiter(nil)
	_, negative := petstoreredis.NewLimiter(rdb, petstoreredis.WithShare(-1))
	_, noTime := petstoreredis.NewLimiter(rdb, petstoreredis.WithTimeout(0))
	for _, err := range []error{withoutRedis, negative, noTime} {
		assert.ErrorIs(t, err, petstore.ErrInvalidArgument)
	}
}

// acquire returns a permit for a request that may wait for ever.
func acquire(t *testing.T, l *petstoreredis.Limiter) ratelimit.Permit {
	t.Helper()
	p, err := l.Acquire(t.Context(), ratelimit.Request{MaxWait: math.MaxInt64})
	require.NoError(t, err)
	return p
}

// refused requires that a request without MaxWait is refused at once.
func refused(t *testing.T, l *petstoreredis.Limiter) {
	t.Helper()
	within(t, 0, atOnce, func() {
		_, err := l.Acquire(t.Context(), ratelimit.Request{})
		assert.ErrorAs(t, err, new(*ratelimit.Error))
	})
}

const atOnce = 10 * time.Millisecond

// outcome is the outcome of a request that was sent and answered just now, in a window of a minute;
// without headers if limit is 0.
func outcome(status, limit, remaining int) ratelimit.Outcome {
	now := time.Now()
	o := ratelimit.Outcome{Sent: now, Received: now, StatusCode: status, Date: now.Truncate(time.Second)}
	if limit > 0 {
		o.Window = ratelimit.Window{Limit: limit, Remaining: remaining, Reset: o.Date.Add(time.Minute)}
	}
	return o
}

func ok(limit, remaining int) ratelimit.Outcome { return outcome(http.StatusOK, limit, remaining) }

// rejected is the outcome of a request that got a 429.
func rejected(retryAfter time.Duration) ratelimit.Outcome {
	o := outcome(http.StatusTooManyRequests, 0, 0)
	o.RetryAfter = retryAfter
	return o
}

// process is the limiter of a process.
type process = *petstoreredis.Limiter

// Three processes share a key.
func TestLimiter(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, r *virtualRedis, a, b, c process){
		"all learn in ten seconds that a key was reopened": func(t *testing.T, _ *virtualRedis, a, b, c process) {
			acquire(t, a).Release(rejected(time.Hour))
			synctest.Wait()
			for _, l := range []process{a, b, c} {
				refused(t, l)
			}
			permits := make(chan ratelimit.Permit)
			go func() { permits <- acquire(t, b) }()
			time.Sleep(5 * time.Second)
			within(t, 0, 10*time.Second, func() {
				c.Reopen("")
				(<-permits).Release(ok(60, 59))
				for _, l := range []process{a, b, c} {
					acquire(t, l).Release(ok(60, 50))
				}
			})
		},
		"the first response of a window opens it for all at once": func(t *testing.T, _ *virtualRedis, a, b, _ process) {
			acquire(t, a).Release(ok(60, 59))
			synctest.Wait()
			within(t, 0, atOnce, func() { acquire(t, b).Release(ok(60, 58)) })
		},
		"each further 429 in a row closes the key for longer": func(t *testing.T, _ *virtualRedis, a, _, _ process) {
			for _, least := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second} {
				p, o := acquire(t, a), rejected(time.Second/2)
				assert.GreaterOrEqual(t, p.Release(o).Until.Sub(o.Sent), least)
			}
		},
		"a context that ends before the window is refused at once": func(t *testing.T, _ *virtualRedis, a, _, _ process) {
			acquire(t, a).Release(ok(60, 0))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			within(t, 0, atOnce, func() {
				_, err := a.Acquire(ctx, ratelimit.Request{MaxWait: time.Hour})
				assert.Error(t, err)
			})
		},
		"permits that come too late go back to the pot": func(t *testing.T, r *virtualRedis, a, _, _ process) {
			acquire(t, a).Release(ok(60, 59))
			time.Sleep(3 * time.Second)
			r.latency.Store(int64(100 * time.Millisecond))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(10*time.Millisecond, cancel)
			_, err := a.Acquire(ctx, ratelimit.Request{})
			require.ErrorIs(t, err, context.Canceled)
			time.Sleep(time.Second)
			assert.Equal(t, "0", r.HGet(r.Keys()[0], "out"))
		},
		// It is sent again, without the permits that it may have counted.
		"a command whose reply is lost counts once": func(t *testing.T, r *virtualRedis, l, _, _ process) {
			acquire(t, l).Release(ok(60, 59))
			synctest.Wait()
			a, b := acquire(t, l), acquire(t, l)
			r.lost.Store(true)
			a.Release(ok(60, 58))
			require.NoError(t, l.Flush(t.Context()))
			assert.Equal(t, "1", r.HGet(r.Keys()[0], "out"))
			b.Release(ok(60, 57))
		},
		"without headers one request is in flight, and a 429 closes": func(t *testing.T, _ *virtualRedis, a, b, _ process) {
			for range 20 {
				within(t, 0, time.Second, func() {
					for _, l := range []process{a, b} {
						acquire(t, l).Release(ok(0, 0))
					}
				})
			}
			acquire(t, a).Release(rejected(5 * time.Second))
			within(t, 4900*time.Millisecond, 200*time.Millisecond, func() { acquire(t, b).Release(ok(0, 0)) })
		},
		"the less often they ask, the longer the service stalls": func(t *testing.T, r *virtualRedis, a, _, _ process) {
			defer many(t, a)()
			assert.Less(t, r.commands(10*time.Second), int64(200))
		},
		"calls that wait need few commands, a key at rest none": func(t *testing.T, r *virtualRedis, a, _, _ process) {
			acquire(t, a).Release(ok(2000, 0))
			end := many(t, a)
			assert.Less(t, r.commands(50*time.Second), int64(20), "while calls wait")
			end()
			assert.LessOrEqual(t, r.commands(time.Hour), int64(1), "at rest")
			r.broken.Store(true)
			acquire(t, a).Release(ok(2000, 1999))
			time.Sleep(2 * time.Minute)
			assert.Zero(t, r.commands(time.Hour), "at rest without Redis")
		},
		"Flush reports what Redis does not know": func(t *testing.T, r *virtualRedis, a, _, _ process) {
			acquire(t, a).Release(ok(60, 59))
			synctest.Wait()
			p := acquire(t, a)
			acquire(t, a).Release(ok(60, 58))
			require.NoError(t, a.Flush(t.Context()))
			assert.Equal(t, "1", r.HGet(r.Keys()[0], "out"))
			r.SetError("READONLY You can't write against a read only replica.")
			p.Release(ok(60, 0))
			require.ErrorContains(t, a.Flush(t.Context()), "READONLY")
		},
		"the first command may take three times as long": func(t *testing.T, r *virtualRedis, _, _, _ process) {
			l := r.process(t, petstoreredis.WithTimeout(time.Second))
			for _, want := range []time.Duration{2500 * time.Millisecond, time.Second} {
				r.silent.Store(true)
				time.AfterFunc(2500*time.Millisecond, func() { r.silent.Store(false) })
				within(t, want-200*time.Millisecond, 400*time.Millisecond, func() { acquire(t, l).Release(ok(60, 59)) })
				time.Sleep(10 * time.Second)
			}
		},
		"a day that is used up is over a day later": func(t *testing.T, _ *virtualRedis, a, b, c process) {
			service := fake.NewTestServer(t, fake.WithPlan(fake.Plan{PerMinute: 60, PerDay: 150}),
				fake.WithLatency(50*time.Millisecond), fake.WithJournal(1000))
			for day := range 2 {
				var all sync.WaitGroup
				for _, l := range []process{a, b, c} {
					all.Go(func() {
						client, err := service.Client(petstore.WithLimiter(l), petstore.WithMaxWait(time.Hour)), error(nil)
						for err == nil {
							_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
						}
						assert.ErrorIs(t, err, petstore.ErrRateLimited)
					})
				}
				all.Wait()
				assert.LessOrEqual(t, service.Usage(service.APIKey()).Limited, 1, "429s")
				assert.GreaterOrEqual(t, len(service.Requests()), 150*(day+1)-1)
				time.Sleep(24 * time.Hour)
			}
		},
		"a pot that is gone or spoiled begins anew with one request": func(t *testing.T, r *virtualRedis, l, _, _ process) {
			for _, spoil := range []func(key string){
				func(key string) { r.HSet(key, "remaining", "junk") },
				func(key string) { r.HDel(key, "limit") },
				func(key string) { r.Del(key) },
			} {
				acquire(t, l).Release(ok(60, 40))
				require.NoError(t, l.Flush(t.Context()))
				assert.InDelta(t, 11, r.TTL(r.Keys()[0]).Minutes(), 1, "of the window and ten more")
				spoil(r.Keys()[0])
				permits := make(chan ratelimit.Permit)
				within(t, 500*time.Millisecond, 3500*time.Millisecond, func() {
					for range 2 {
						go func() { permits <- acquire(t, l) }()
					}
					probe := <-permits
					time.Sleep(500 * time.Millisecond)
					assert.Empty(t, permits, "one request goes ahead")
					probe.Release(ok(60, 39))
					(<-permits).Release(ok(60, 38))
				})
				time.Sleep(2 * time.Minute)
			}
		},
		"after a 429 only requests on the wire arrive": func(t *testing.T, r *virtualRedis, l, _, _ process) {
			r.latency.Store(int64(300 * time.Millisecond)) // Redis is far away
			service := fake.NewTestServer(t, fake.WithPlan(fake.PlanPro), fake.WithLatency(20*time.Millisecond))
			client := service.Client(petstore.WithLimiter(l))
			time.AfterFunc(3*time.Second, func() { service.BanKey(service.APIKey(), time.Hour) })
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range 40 { // most are refused
						_, _ = client.ListPets(t.Context(), petstore.ListPetsParams{})
						time.Sleep(150 * time.Millisecond)
					}
				})
			}
			all.Wait()
			assert.InDelta(t, 4.5, service.Usage(service.APIKey()).Limited, 3.5, "one to eight")
		},
		"a machine that was suspended":  suspended(time.Hour),
		"a wall clock that is set back": suspended(-time.Hour),
		"MaxWait 0 while Redis stalls": func(t *testing.T, r *virtualRedis, a, _, _ process) {
			r.silent.Store(true)
			impatient(t, a)
		},
		"MaxWait 0 while the service stalls for another process": func(t *testing.T, _ *virtualRedis, a, b, _ process) {
			acquire(t, a)
			impatient(t, b)
		},
		"MaxWait 0 while the service stalls and Redis is away": func(t *testing.T, r *virtualRedis, a, _, _ process) {
			r.broken.Store(true)
			acquire(t, a)
			impatient(t, a)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *virtualRedis) {
				test(t, r, r.process(t), r.process(t), r.process(t))
			})
		})
	}
}

// suspended lets the wall clock jump while a call waits, as when a machine was suspended: its timers
// stood still. The call must not wait for a window that is over.
func suspended(jump time.Duration) func(t *testing.T, r *virtualRedis, l, _, _ process) {
	return func(t *testing.T, r *virtualRedis, l, _, _ process) {
		t.Helper()
		var jumped atomic.Int64
		l.SetClock(func() time.Time { return time.Now().Round(0).Add(time.Duration(jumped.Load())) })
		acquire(t, l).Release(ok(60, 0))
		synctest.Wait()
		refused(t, l)
		permits := make(chan ratelimit.Permit)
		go func() { permits <- acquire(t, l) }()
		time.Sleep(10 * time.Second)
		jumped.Store(int64(jump))
		r.ahead.Store(int64(max(0, jump)))
		within(t, 0, max(30*time.Second, 50*time.Second-jump*51/3600), func() {
			(<-permits).Release(ratelimit.Outcome{})
		})
	}
}

// impatient makes a hundred requests without MaxWait: they are in Acquire for a second and a little.
func impatient(t *testing.T, l process) {
	t.Helper()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			within(t, 0, 1100*time.Millisecond, func() {
				if p, err := l.Acquire(t.Context(), ratelimit.Request{}); err == nil {
					p.Release(ratelimit.Outcome{}) // one more request may go ahead after a second
				}
			})
		})
	}
	all.Wait()
}

// within requires that f takes at least so long, and at most some time more.
func within(t *testing.T, least, more time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	took := time.Since(start)
	assert.True(t, took >= least && took <= least+more, "took %v, not %v to %v", took, least, least+more)
}

// many lets a thousand requests wait, half of them in the background, until the function that it
// returns is called.
func many(t *testing.T, l process) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 1000 {
		all.Go(func() { _, _ = l.Acquire(ctx, ratelimit.Request{Background: i < 500, MaxWait: math.MaxInt64}) })
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// use makes so many calls, and requires that none fails.
func use(t *testing.T, client *petstore.Client, calls int, pause time.Duration) {
	t.Helper()
	for range calls {
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		time.Sleep(pause)
	}
}

// Redis fails in many ways. Calls are neither held up nor let through without a limit, and the log
// reports the reason in few lines.
func TestLimiterAway(t *testing.T) {
	for name, reply := range map[string]string{
		"connection refused": "", "no reply within 2s": "", "OOM": "OOM command not allowed when used memory > 'maxmemory'.",
		"NOPERM": "NOPERM this user has no permissions to run the 'evalsha' command",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *virtualRedis) {
				var log bytes.Buffer
				service := fake.NewTestServer(t, fake.WithPlan(fake.PlanPro))
				l, other := r.process(t, petstoreredis.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))), r.process(t)
				client := service.Client(petstore.WithLimiter(l))
				use(t, service.Client(petstore.WithLimiter(other)), 3, time.Second)
				use(t, client, 10, time.Second)
				for range 6 {
					r.broken.Store(name == "connection refused")
					r.silent.Store(name == "no reply within 2s")
					r.SetError(reply)
					use(t, client, 20, time.Second)
					r.broken.Store(false)
					r.silent.Store(false)
					r.SetError("")
					use(t, client, 5, time.Second)
				}
				synctest.Wait()
				lines := strings.Split(strings.TrimSpace(log.String()), "\n")
				assert.Len(t, lines, 12)
				assert.Contains(t, lines[0], name)
				assert.Contains(t, lines[0], "level=WARN")
				assert.Contains(t, lines[0], "processes=2")
				assert.Contains(t, lines[1], "redis is back")
				assert.Zero(t, service.Usage(service.APIKey()).Limited)
			})
		})
	}
}

// Without Redis a process keeps to its share: of the processes that Redis knew, of WithShare, or a
// sixty-fourth. It knows what it used before.
func TestLimiterShare(t *testing.T) {
	for name, test := range map[string]struct {
		before, share, want int // permits that it gets from Redis, WithShare, and permits without Redis
	}{
		"the processes that Redis knew":        {before: 10, want: 300/2 - 10},
		"WithShare":                            {before: 1, share: 10, want: 300/10 - 1},
		"Redis has never replied":              {want: 300 / 64},
		"the share was used up in this window": {before: 200, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *virtualRedis) {
				service, l := fake.NewTestServer(t, fake.WithPlan(fake.PlanPro)), r.process(t, petstoreredis.WithShare(test.share))
				client := service.Client(petstore.WithLimiter(l), petstore.WithMaxWait(0))
				use(t, service.Client(petstore.WithLimiter(r.process(t))), min(1, test.before), time.Second)
				use(t, client, test.before, 20*time.Millisecond)
				r.broken.Store(true)
				got, err := -1, error(nil)
				for ; err == nil; got++ {
					_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
				}
				require.ErrorIs(t, err, petstore.ErrRateLimited)
				assert.Equal(t, test.want, got)
			})
		})
	}
}
