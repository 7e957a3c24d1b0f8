package petstoreredis_test

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
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
	r := &virtualRedis{Miniredis: miniredis.RunT(t)}
	r.before = func() { r.SetTime(time.Now()) }
	ratelimittest.Run(t, func(t *testing.T) ratelimittest.Limiter {
		return r.process(t, petstoreredis.WithKeyPrefix(t.Name()))
	})
}

func TestNewLimiter(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{})
	defer rdb.Close()
	share := petstoreredis.WithShare
	for _, test := range []struct {
		rdb  redis.UniversalClient
		opt  petstoreredis.Option
		want string
	}{
		{rdb: nil, opt: share(1), want: "rdb: is nil"},
		{rdb: rdb, opt: share(-1), want: "WithShare: is negative"},
		{rdb: rdb, opt: petstoreredis.WithTimeout(0), want: "WithTimeout: is not positive"},
	} {
		_, err := petstoreredis.NewLimiter(test.rdb, test.opt)
		require.ErrorIs(t, err, petstore.ErrInvalidArgument)
		assert.ErrorContains(t, err, test.want)
	}
}

// acquire returns a permit for a request that may wait for ever.
func acquire(t *testing.T, l *petstoreredis.Limiter) ratelimit.Permit {
	t.Helper()
	p, err := l.Acquire(t.Context(), ratelimit.Request{MaxWait: math.MaxInt64})
	require.NoError(t, err)
	return p
}

// refused requires that a request is refused at once, and returns why.
func refused(t *testing.T, l *petstoreredis.Limiter, r ratelimit.Request) *ratelimit.Error {
	t.Helper()
	start := time.Now()
	_, err := l.Acquire(t.Context(), r)
	var limited *ratelimit.Error
	require.ErrorAs(t, err, &limited)
	assert.Less(t, time.Since(start), time.Second)
	return limited
}

// outcome is the outcome of a request that was sent and answered just now, in a window of a minute.
func outcome(status, limit, remaining int) ratelimit.Outcome {
	now := time.Now()
	return ratelimit.Outcome{
		Sent: now, Received: now, StatusCode: status, Date: now.Truncate(time.Second),
		Window: ratelimit.Window{Limit: limit, Remaining: remaining, Reset: now.Add(time.Minute).Truncate(time.Second)},
	}
}

func ok(limit, remaining int) ratelimit.Outcome { return outcome(http.StatusOK, limit, remaining) }

// banned is the outcome of a request that got a 429 for an hour.
func banned() ratelimit.Outcome {
	o := outcome(http.StatusTooManyRequests, 60, 0)
	o.RetryAfter = time.Hour
	return o
}

func TestPot(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		service, l := fake.NewTestServer(t), r.process(t)
		use(t, service.Client(petstore.WithLimiter(l)), time.Second)
		require.NoError(t, l.Flush(t.Context()))
		pot := r.Keys()[0]
		assert.True(t, strings.HasPrefix(pot, "petstore:"))
		assert.InDelta(t, 11, r.TTL(pot).Minutes(), 1, "of the window and ten more")
		assert.NotContains(t, r.Dump(), service.APIKey())
	})
}

// All processes learn of a 429. If the pot is lost, they write it into the new one.
func TestLimiterLockout(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		a, b := r.process(t), r.process(t)
		acquire(t, a).Release(banned())
		synctest.Wait()
		assert.Equal(t, ratelimit.ReasonBan, refused(t, b, ratelimit.Request{}).Reason)
		r.FlushAll()
		time.Sleep(10 * time.Second)
		refused(t, a, ratelimit.Request{})
		synctest.Wait()
		refused(t, r.process(t), ratelimit.Request{})
	})
}

func TestLimiterReopen(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		a, b, c := r.process(t), r.process(t), r.process(t)
		acquire(t, a).Release(banned())
		synctest.Wait()
		refused(t, a, ratelimit.Request{})
		refused(t, b, ratelimit.Request{})
		permits := make(chan ratelimit.Permit)
		go func() { permits <- acquire(t, b) }()
		time.Sleep(time.Minute)
		refused(t, c, ratelimit.Request{})
		start := time.Now()
		c.Reopen("")
		(<-permits).Release(ok(60, 59))
		assert.LessOrEqual(t, time.Since(start), 10*time.Second)
		time.Sleep(10 * time.Second)
		for _, l := range []*petstoreredis.Limiter{a, b, c} {
			acquire(t, l).Release(ok(60, 50))
		}
		assert.LessOrEqual(t, time.Since(start), 21*time.Second, "the others know, too")
	})
}

// What comes to a process while it waits for Redis is one report, with the 429 in it.
func TestLimiterReports(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l, other := r.process(t), r.process(t)
		acquire(t, l).Release(ok(60, 59))
		require.NoError(t, l.Flush(t.Context()))
		permits := []ratelimit.Permit{acquire(t, l), acquire(t, l), acquire(t, l), acquire(t, l)}
		out := func() string { return r.HGet(r.Keys()[0], "out") }
		permits[0].Release(ok(60, 58))
		time.Sleep(19 * time.Millisecond)
		assert.Equal(t, "4", out(), "another outcome may follow")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		assert.Equal(t, "3", out())
		r.latency.Store(int64(100 * time.Millisecond))
		permits[1].Release(ok(60, 57))
		time.Sleep(50 * time.Millisecond)
		permits[2].Release(banned())
		permits[3].Release(ok(60, 56))
		time.Sleep(time.Second)
		assert.Equal(t, ratelimit.ReasonBan, refused(t, other, ratelimit.Request{}).Reason)
	})
}

// After a 429 one process sends a request, and the others wait for its response.
func TestLimiterWaitsForAnotherProcess(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		a, b := r.process(t), r.process(t)
		o := ok(60, 59)
		o.StatusCode, o.RetryAfter = http.StatusTooManyRequests, time.Second
		acquire(t, a).Release(o)
		first, start := acquire(t, a), time.Now()
		time.AfterFunc(5*time.Second, func() { first.Release(ok(60, 58)) })
		acquire(t, b).Release(ok(60, 57))
		assert.Less(t, time.Since(start), 6*time.Second)
	})
}

// A process that is killed cannot report: its permits count as spent until their window is over.
func TestLimiterKilled(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		a, b := r.process(t), r.process(t)
		start := time.Now()
		acquire(t, a).Release(ok(3, 2))
		acquire(t, a)
		acquire(t, a)
		_, err := b.Acquire(t.Context(), ratelimit.Request{MaxWait: 10 * time.Second})
		require.Error(t, err)
		assert.Less(t, time.Since(start), 4*time.Second, "they are taken for lost")
		acquire(t, b).Release(ok(60, 59))
		assert.WithinDuration(t, start.Add(time.Minute), time.Now(), 5*time.Second)
		acquire(t, a) // the request that goes ahead gets no response either
	})
}

// A pot that the script has not written, or that is older than what a process knows, is replaced by
// a new one, which begins with one request.
func TestPotJunk(t *testing.T) {
	set := func(field, value string) func(r *virtualRedis, key string) {
		return func(r *virtualRedis, key string) { r.HSet(key, field, value) }
	}
	for name, spoil := range map[string]func(r *virtualRedis, key string){
		"a string":         func(r *virtualRedis, key string) { r.Del(key); _ = r.Set(key, "junk") },
		"a list":           func(r *virtualRedis, key string) { r.Del(key); _, _ = r.Push(key, "junk") },
		"text":             set("remaining", "junk"),
		"a fraction":       set("remaining", "700.5"),
		"not a number":     set("out", "nan"),
		"negative":         set("number", "-1"),
		"without end":      set("ends", "inf"),
		"closed for ever":  set("closed", "99999999999999"),
		"of the future":    set("at", "9946684861000"),
		"older":            set("number", "946684700000"),
		"a field missing":  func(r *virtualRedis, key string) { r.HDel(key, "limit") },
		"gone":             func(r *virtualRedis, key string) { r.Del(key) },
		"an unknown scope": set("scope", "<script>"),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *virtualRedis) {
				l := r.process(t)
				acquire(t, l).Release(ok(60, 40))
				require.NoError(t, l.Flush(t.Context()))
				spoil(r, r.Keys()[0])
				start, permits := time.Now(), make(chan ratelimit.Permit)
				for range 2 {
					go func() { permits <- acquire(t, l) }()
				}
				probe := <-permits
				time.Sleep(500 * time.Millisecond)
				assert.Empty(t, permits, "one request goes ahead")
				probe.Release(ok(60, 39))
				(<-permits).Release(ok(60, 0))
				assert.Less(t, time.Since(start), 4*time.Second)
				require.NoError(t, l.Flush(t.Context()))
				r.HSet(r.Keys()[0], "scope", "77")
				time.Sleep(10 * time.Second)
				assert.Equal(t, ratelimit.ReasonMinute, refused(t, l, ratelimit.Request{}).Reason)
			})
		})
	}
}

// reply makes Redis send this reply to all scripts; if it is empty, scripts run and reply as usual.
func (r *virtualRedis) reply(text string) {
	r.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
		if !strings.HasPrefix(strings.ToUpper(cmd), "EVAL") || text == "" {
			return false
		}
		if message, isError := strings.CutPrefix(text, "-"); isError {
			c.WriteError(message)
		} else {
			c.WriteBulk(text)
		}
		return true
	})
}

func TestLimiterFlush(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l := r.process(t)
		require.NoError(t, l.Flush(t.Context()), "there is nothing to tell")
		acquire(t, l).Release(ok(60, 59))
		synctest.Wait()
		acquire(t, l).Release(ok(60, 58))
		r.reply("-READONLY You can't write against a read only replica.")
		require.ErrorContains(t, l.Flush(t.Context()), "READONLY")
		r.reply("")
		require.NoError(t, l.Flush(t.Context()))
		assert.Equal(t, "58", r.HGet(r.Keys()[0], "remaining"), "it is not lost")
		assert.Equal(t, "0", r.HGet(r.Keys()[0], "out"))
		acquire(t, l).Release(ok(60, 57))
		r.silent.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, l.Flush(ctx), context.DeadlineExceeded)
		require.ErrorContains(t, l.Flush(t.Context()), "no reply within 2s")
		r.silent.Store(false)
		time.Sleep(10 * time.Second)
	})
}

// use makes a call a second for d, and requires that none fails.
func use(t *testing.T, client *petstore.Client, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
	}
}

// Redis fails in many ways. Calls are neither held up nor let through without a limit, and the log
// reports the reason in few lines.
func TestLimiterAway(t *testing.T) {
	for name, reply := range map[string]string{
		"connection refused": "", "no reply within 2s": "", "OOM": "-OOM command not allowed when used memory > 'maxmemory'.",
		"NOPERM":                             "-NOPERM this user has no permissions to run the 'evalsha' command",
		"the reply is not one of the script": `{"at":1,"number":1,"epoch":1,"processes":1,"granted":99}`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *virtualRedis) {
				var log bytes.Buffer
				service := fake.NewTestServer(t, fake.WithPlan(fake.PlanPro))
				l, other := r.process(t, petstoreredis.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))), r.process(t)
				client := service.Client(petstore.WithLimiter(l))
				use(t, service.Client(petstore.WithLimiter(other)), 3*time.Second)
				use(t, client, 10*time.Second)
				for range 6 {
					r.broken.Store(name == "connection refused")
					r.silent.Store(name == "no reply within 2s")
					r.reply(reply)
					use(t, client, 20*time.Second)
					r.broken.Store(false)
					r.silent.Store(false)
					r.reply("")
					use(t, client, 5*time.Second)
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

// WithShare replaces the number of processes that Redis knows.
func TestWithShare(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l := r.process(t, petstoreredis.WithShare(8))
		acquire(t, l).Release(ok(60, 59))
		require.NoError(t, l.Flush(t.Context()))
		assert.Equal(t, 8, acquire(t, l).Release(banned()).Processes)
	})
}

// The first command connects, and may take three times as long as the others.
func TestLimiterFirstCommand(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l := r.process(t, petstoreredis.WithTimeout(time.Second))
		for falls := range 2 {
			r.silent.Store(true)
			time.AfterFunc(2500*time.Millisecond, func() { r.silent.Store(false) })
			acquire(t, l).Release(ok(60, 59-falls))
			_ = l.Flush(t.Context()) // fails the second time
			time.Sleep(10 * time.Second)
		}
	})
}

// A command whose reply is lost may have been carried out. It is sent again, without the outcomes
// that it may have counted.
func TestLimiterReplyLost(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l := r.process(t)
		acquire(t, l).Release(ok(60, 59))
		require.NoError(t, l.Flush(t.Context()))
		a, b := acquire(t, l), acquire(t, l)
		r.lost.Store(true)
		a.Release(ok(60, 58))
		require.NoError(t, l.Flush(t.Context()))
		assert.Equal(t, "1", r.HGet(r.Keys()[0], "out"))
		b.Release(ok(60, 57))
	})
}

// TestLimiterCommands counts commands: at most two for each request, also at seventeen requests a
// second, which are a thousand a minute; few while calls wait, however many they are; and none
// while no call is made.
func TestLimiterCommands(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l := r.process(t)
		for i := range 510 {
			acquire(t, l).Release(ok(2000, 1999-i))
			time.Sleep(time.Second / 17)
		}
		commands := int(r.evals.Load())
		assert.LessOrEqual(t, commands, 510*22/10)
		time.Sleep(time.Hour)
		assert.LessOrEqual(t, int(r.evals.Load()), commands+1, "at rest")

		acquire(t, l).Release(ok(2000, 0))
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				_, err := l.Acquire(ctx, ratelimit.Request{Background: i < 500, MaxWait: math.MaxInt64})
				assert.ErrorIs(t, err, context.Canceled)
			})
		}
		commands = int(r.evals.Load())
		time.Sleep(50 * time.Second)
		assert.Less(t, int(r.evals.Load()), commands+20, "while a thousand calls wait")
		cancel()
		all.Wait()

		r.broken.Store(true)
		acquire(t, l).Release(ok(2000, 1999))
		time.Sleep(2 * time.Minute)
		commands = int(r.evals.Load())
		time.Sleep(time.Hour)
		assert.Equal(t, commands, int(r.evals.Load()), "at rest without Redis")
		r.broken.Store(false)
		time.Sleep(10 * time.Second)
	})
}
