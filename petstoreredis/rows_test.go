package petstoreredis_test

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestSimulatedFleets(t *testing.T) {
	for _, r := range []row{
		{limit: 60, processes: 2, name: "healthy"},
		{processes: 8, name: "healthy"},
		{limit: 1000, processes: 1, goroutines: 32, name: "healthy"},
		{processes: 64, name: "healthy"},
		{limit: 1000, processes: 100, goroutines: 1, name: "healthy"},
		{processes: 64, name: "slow", delay: 600 * time.Millisecond},
		{limit: 60, processes: 16, goroutines: 1, name: "slow", delay: 600 * time.Millisecond},
		{processes: 8, name: "minutes of the clock", window: fake.WindowAligned},
		{processes: 8, name: "windows that slide", window: fake.WindowSliding},
		{processes: 8, name: "Redis away with half of a window left", during: cut(150, broken)},
		{processes: 8, name: "Redis away with a window used up", during: cut(300, broken)},
		{processes: 8, name: "no replies with half of a window left", during: cut(150, silent)},
		{processes: 64, name: "no replies with half of a window left", during: cut(150, silent)},
	} {
		r.limit, r.goroutines, r.delay = cmp.Or(r.limit, 300), cmp.Or(r.goroutines, 4), cmp.Or(r.delay, time.Millisecond)
		t.Run(r.id(), func(t *testing.T) {
			if testing.Short() && r.processes > 8 {
				t.Skip("takes seconds")
			}
			bubble(t, func(t *testing.T, v *virtualRedis) {
				f := newFleet(t, r, 2)
				f.dial = func(k *link) *redis.Client {
					k.before = v.tick
					return newClient(t, v.Addr(), k)
				}
				f.run()
				f.check(0.95)
			})
		})
	}
}

// cut keeps the workers from Redis for 20 seconds after that many responses: they cannot connect, or
// get no replies.
func cut(responses int, off func(k *link) *atomic.Bool) func(f *fleet) {
	return func(f *fleet) {
		f.await(responses)
		for _, on := range []bool{true, false} {
			for _, w := range f.workers {
				off(&w.toRedis).Store(on)
			}
			wait(f.Context(), 20*time.Second)
		}
	}
}

func broken(k *link) *atomic.Bool { return &k.broken }
func silent(k *link) *atomic.Bool { return &k.silent }

// What docs/scaling.md says of fleets: limiters with the default options, minutes of real time, and
// all that may go wrong with the Redis that they share. A release runs it:
//
//	go test -v -count 1 -timeout 1h -parallel 8 -run OnRedisTable . -table
//
// Without -table, the rows that are brief run for one window, beside each other.
func TestOnRedisTable(t *testing.T) {
	windows, share := 2, 0.95
	if !*wholeTable {
		windows, share = 1, 0.85
	}
	var mu sync.Mutex
	var lines []string
	t.Cleanup(func() { t.Log("\n" + strings.Join(lines, "\n")) })
	for _, r := range rows() {
		if r.brief || *wholeTable {
			t.Run(r.id(), func(t *testing.T) {
				t.Parallel()
				f := newFleet(t, r, windows)
				f.redis = newRedisServer(t)
				f.dial = func(k *link) *redis.Client { return f.redis.client(t, k) }
				f.run()
				line := f.check(share)
				mu.Lock()
				defer mu.Unlock()
				lines = append(lines, line)
			})
		}
	}
}

// rows is the table.
func rows() []row {
	all := []row{
		{name: "healthy", processes: 8, goroutines: 8, brief: true},
		{name: "sixty-four processes", processes: 64},
		{name: "healthy", processes: 32, limit: 1000},
		{name: "Redis 50 ms away, 1 % of commands break their connection", delay: 50 * time.Millisecond, drops: 1},
		{name: "slow: commands take 0.6 s", processes: 64, delay: 600 * time.Millisecond},
		{name: "slow: commands take 0.6 s", processes: 16, goroutines: 1, limit: 60, delay: 600 * time.Millisecond},
		{name: "failed over: Redis killed, away for 10 s, empty", brief: true, during: killed},
		{name: "Redis frozen for 20 s", during: frozen},
		{name: "flushed every 5 s", during: flushed},
		{name: "junk in the pot", during: junk},
		{name: "stale: an older pot comes back, twice", goroutines: 1, during: older},
		{name: "killed and started cold, twice in a window", during: twice},
		{name: "killed and started cold, twice in a window", processes: 64, during: twice},
		{name: "rolling restart in mid-window", goroutines: 1, brief: true, during: rolling},
		{name: "two plans: a second key on the same limiters", during: second},
		{name: "a process beside that was not told takes a third", foreign: 450 * time.Millisecond},
	}
	for i := range all {
		r := &all[i]
		r.limit, r.processes, r.goroutines = cmp.Or(r.limit, 300), cmp.Or(r.processes, 8), cmp.Or(r.goroutines, 4)
	}
	return all
}

// second has all processes use up another key with another plan, too.
func second(f *fleet) {
	const key, limit = "second-key", 60
	f.service.AddKey(key, fake.Plan{PerMinute: limit})
	for _, w := range f.workers {
		client, err := w.client.ForKey(key)
		require.NoError(f, err)
		w.group.Go(func() {
			for w.ctx.Err() == nil {
				_, _ = client.ListPets(w.ctx, petstore.ListPetsParams{Limit: 1})
			}
		})
	}
	f.Cleanup(func() {
		assert.Zero(f, f.service.Usage(key).Limited, "429s of the second key")
		assert.GreaterOrEqual(f, len(f.service.RequestsFor(key)), (f.windows+1)*limit)
	})
}

// older has Redis come back with the snapshot of a window half used: when that window is used up,
// and when half of the next one is.
func older(f *fleet) {
	f.await(f.limit / 2)
	f.redis.do(f.T, "save")
	for _, used := range []int{f.limit, f.limit * 3 / 2} {
		f.await(used)
		f.redis.stop()
		f.redis.start(f.T)
	}
}

// junk overwrites the pot with another type, with text in its fields, and with numbers without end.
func junk(f *fleet) {
	for i, spoil := range [][]any{
		{"set", "junk"}, {"hset", "remaining", "junk", "ends", "nan"}, {"hset", "ends", "1e300", "at", "inf", "window", "-1"},
	} {
		f.await(f.limit/4 + i*f.limit*3/4)
		keys, err := f.redis.client(f.T, &link{}).Keys(f.Context(), "petstore:*").Result()
		require.NoError(f, err)
		for _, key := range keys {
			f.redis.do(f.T, slices.Insert(spoil, 1, any(key))...)
		}
	}
}

func killed(f *fleet) {
	f.await(f.limit / 2)
	f.redis.stop()
	wait(f.Context(), 10*time.Second)
	f.redis.start(f.T)
}

func frozen(f *fleet) {
	f.await(f.limit / 2)
	signal(f.T, f.redis.cmd.Process, "STOP")
	wait(f.Context(), 20*time.Second)
	signal(f.T, f.redis.cmd.Process, "CONT")
}

func flushed(f *fleet) {
	for d := time.Second; d < 90*time.Second; d += 5 * time.Second {
		wait(f.Context(), d-time.Since(f.start))
		f.redis.do(f.T, "flushall")
	}
}

// twice kills the whole fleet in mid-window and starts it again, first with the pot in Redis, then
// without.
func twice(f *fleet) {
	for i, used := range []int{f.limit / 3, f.limit * 2 / 3} {
		f.await(used)
		for len(f.workers) > 0 {
			f.end(true)
		}
		if i == 1 {
			f.redis.do(f.T, "flushall")
		}
		f.hire(f.processes)
	}
}

// rolling replaces one process after the other, in turn one that is told to stop and one that is
// killed.
func rolling(f *fleet) {
	for i := range f.processes {
		f.await(f.limit * (i + 1) / 6)
		f.hire(1)
		f.end(i%2 > 0)
	}
}
