package petstoreredis_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// What docs/scaling.md says of fleets: limiters with the default options, minutes of real time, and
// all that may go wrong with the Redis that they share. A release runs it:
//
//	go test -v -count 1 -timeout 1h -parallel 8 -run OnRedisTable . -table
//
// Without -table, the rows that are brief run for one window, beside each other.
func TestOnRedisTable(t *testing.T) {
	var mu sync.Mutex
	lines := map[string]string{}
	t.Cleanup(func() {
		for _, r := range rows() {
			t.Log(lines[r.id()])
		}
	})
	for _, r := range rows() {
		if r.brief || *wholeTable {
			t.Run(r.id(), func(t *testing.T) {
				t.Parallel()
				line := r.run(t)
				mu.Lock()
				defer mu.Unlock()
				lines[r.id()] = line
			})
		}
	}
}

// run runs a row on a real Redis, and returns its line of the table.
func (r row) run(t *testing.T) string {
	t.Helper()
	windows := 2
	if !*wholeTable { // one window, and other rows run beside it
		windows, r.fairness, r.share = 1, 0, 0.9*r.share
	}
	f := newFleet(t, r, windows)
	f.redis = newRedisServer(t)
	f.dial = func(k *link) *redis.Client {
		return redis.NewClient(&redis.Options{Addr: f.redis.address, Dialer: k.dial})
	}
	f.run()
	return f.check()
}

// rows is the table.
func rows() []row {
	return []row{
		{name: "healthy", limit: 300, processes: 8, goroutines: 8, brief: true, share: 0.95, fairness: 0.8},
		{name: "healthy", limit: 300, processes: 8, goroutines: 4, share: 0.95, fairness: 0.8},
		{name: "healthy", limit: 300, processes: 64, goroutines: 4, share: 0.95, fairness: 0.5},
		{name: "healthy", limit: 1000, processes: 32, goroutines: 4, share: 0.95},
		{name: "healthy", limit: 60, processes: 2, goroutines: 4, share: 0.95},
		{
			name:  "Redis 50 ms away",
			limit: 300, processes: 8, goroutines: 8, delay: 50 * time.Millisecond, share: 0.9,
		},
		{
			name:  "Redis 50 ms away, 1 % of commands break their connection",
			limit: 300, processes: 8, goroutines: 4, delay: 50 * time.Millisecond, drops: 1, share: 0.9,
		},
		{
			name:  "commands take 0.6 s",
			limit: 300, processes: 64, goroutines: 4, delay: 600 * time.Millisecond, share: 0.9,
		},
		{
			name:  "commands take 0.6 s",
			limit: 60, processes: 16, goroutines: 1, delay: 600 * time.Millisecond, share: 0.9,
		},
		bad(row{name: "Redis killed, away for 10 s, empty", goroutines: 4, brief: true, during: killed}),
		bad(row{name: "Redis frozen for 20 s", goroutines: 4, during: frozen}),
		bad(row{name: "Redis flushed every 5 s", goroutines: 4, during: flushed}),
		bad(row{name: "pot overwritten by junk", goroutines: 4, during: junk}),
		bad(row{name: "Redis comes back with an older pot, twice", goroutines: 1, during: older}),
		bad(row{name: "Redis full for 20 s", goroutines: 4, during: full}),
		bad(row{name: "killed and started cold, twice in a window", goroutines: 4, during: twice}),
		bad(row{name: "rolling restart in mid-window", goroutines: 1, brief: true, during: rolling}),
		bad(row{name: "64 killed and started cold, twice in a window", processes: 64, goroutines: 4, during: twice}),
		bad(row{name: "a process stopped for 10 s in mid-window", goroutines: 4, during: paused}),
		{
			name:  "another program takes a third",
			limit: 300, processes: 8, goroutines: 4, foreign: 450 * time.Millisecond, limited: 3,
		},
	}
}

// bad is a bad day: two 429s are allowed.
func bad(r row) row {
	r.limit, r.limited, r.share = 300, 2, 0.85
	if r.processes == 0 {
		r.processes = 8
	}
	return r
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
		keys, err := f.redis.client(f.T).Keys(f.Context(), "petstore:*").Result()
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

// full lets Redis write nothing.
func full(f *fleet) {
	f.await(f.limit / 2)
	f.redis.do(f.T, "config", "set", "maxmemory", "1")
	wait(f.Context(), 20*time.Second)
	f.redis.do(f.T, "config", "set", "maxmemory", "0")
}

// twice kills the whole fleet in mid-window and starts it again, first with the pot in Redis, then
// without.
func twice(f *fleet) {
	for i, used := range []int{f.limit / 3, f.limit * 2 / 3} {
		f.await(used)
		for len(f.workers) > 0 {
			f.kill()
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
		if i%2 == 0 {
			f.dismiss()
		} else {
			f.kill()
		}
	}
}

// paused stops a process, and lets it go on in the middle of the next window.
func paused(f *fleet) {
	f.await(f.limit / 3)
	w := f.workers[0]
	w.http.silent.Store(true)
	w.toRedis.silent.Store(true)
	wait(f.Context(), 10*time.Second)
	w.toRedis.silent.Store(false)
	w.http.silent.Store(false)
}
