package petstoreredis_test

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
)

// slowStart is how long a command takes while a fleet starts on a slow Redis.
const slowStart = 600 * time.Millisecond

// rows is the table. A Redis that goes away costs each process fallbacks, so that there is no goal
// for them then.
func rows() []row {
	anyFallbacks := goals{fallbacks: -1}
	return []row{
		slow(16, 1, 60, 90*time.Second),
		slow(24, 1, 60, 90*time.Second),
		slow(32, 1, 60, 90*time.Second),
		slow(64, 4, 300, 90*time.Second),
		slow(64, 4, 1000, 90*time.Second),
		slow(32, 1, 60, 3*time.Second),
		slow(64, 4, 300, 3*time.Second),
		{name: "busy machine", limit: 60, processes: 64, goroutines: 1, burners: 4, goals: anyFallbacks},
		{
			name: "busy machine, 32 × 2", limit: 300, processes: 32, goroutines: 2, burners: 4,
			goals: goals{fairness: 0.7, fallbacks: -1},
		},
		{
			name:  "healthy",
			limit: 300, processes: 8, goroutines: 8, brief: true, goals: goals{share: 0.96, fairness: 0.85, trips: 0.31},
		},
		{name: "healthy, 64 × 4", limit: 300, processes: 64, goroutines: 4},
		{
			name: "Redis 50 ms away", limit: 300, processes: 8, goroutines: 8, delay: 50 * time.Millisecond,
			goals: goals{share: 0.9, fairness: 0.5},
		},
		{
			name: "Redis 50 ms away, 1 % of commands break their connection", limit: 300, processes: 8, goroutines: 4,
			delay: 50 * time.Millisecond, drops: 1, goals: goals{share: 0.9, fallbacks: 4},
		},
		{
			name:  "Redis comes back with an older state, twice",
			limit: 300, processes: 8, goroutines: 1, during: older, goals: anyFallbacks,
		},
		{name: "state overwritten by junk", limit: 300, processes: 8, goroutines: 4, during: junk},
		{
			name:  "Redis killed, away for 10 s, empty",
			limit: 300, processes: 8, goroutines: 4, brief: true, during: killed, goals: anyFallbacks,
		},
		{name: "Redis frozen for 20 s", limit: 300, processes: 8, goroutines: 4, during: frozen, goals: anyFallbacks},
		{
			name:  "Redis flushed every 5 s",
			limit: 300, processes: 8, goroutines: 4, during: flushed, goals: anyFallbacks,
		},
		{
			name: "Redis failed over to a replica that lagged", limit: 300, processes: 8, goroutines: 1, failover: true,
			brief: true, during: failedOver, goals: anyFallbacks,
		},
		{
			name:  "killed and started cold, twice in a window",
			limit: 300, processes: 8, goroutines: 4, during: twice, goals: anyFallbacks,
		},
		{
			name:  "rolling restart in mid-window",
			limit: 300, processes: 8, goroutines: 1, brief: true, during: rolling, goals: anyFallbacks,
		},
	}
}

// slow is a fleet that starts while Redis needs 0.6 s for each command: past the first window, or
// until the processes return to Redis in the middle of it.
func slow(processes, goroutines, limit int, length time.Duration) row {
	return row{
		name:  fmt.Sprintf("Redis slow for the first %.0f s, %d on %d", length.Seconds(), processes, limit),
		limit: limit, processes: processes, goroutines: goroutines, delay: slowStart, slowFor: length,
		goals: goals{fallbacks: -1}, brief: length < minute,
	}
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

// junk overwrites the state with what cannot be read, then with what can, and then all that there
// is.
func junk(f *fleet) {
	rdb := f.redis.client(f.T)
	for i, text := range []string{"junk", `{"life": 1}`, "all"} {
		f.await(f.limit/4 + i*f.limit*3/4)
		keys, err := rdb.Keys(f.Context(), "petstore:*").Result()
		require.NoError(f, err)
		for _, key := range keys {
			if i == 2 || rdb.Type(f.Context(), key).Val() == "string" {
				require.NoError(f, rdb.Set(f.Context(), key, text, 0).Err())
			}
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
	f.redis.signal(f.T, "STOP")
	wait(f.Context(), 20*time.Second)
	f.redis.signal(f.T, "CONT")
}

func flushed(f *fleet) {
	for d := time.Second; d < 90*time.Second; d += 5 * time.Second {
		f.at(d)
		f.redis.do(f.T, "flushall")
	}
}

// failedOver has the replica lag behind, the window used up, and the master die; and again in the
// next window, without the lag.
func failedOver(f *fleet) {
	f.await(f.limit / 3)
	f.sentinel.lag(f.T)
	f.await(f.limit)
	f.sentinel.master.stop()
}

// twice kills the whole fleet in mid-window and starts it again, first with the state in Redis,
// then without.
func twice(f *fleet) {
	for i, used := range []int{f.limit / 3, f.limit * 2 / 3} {
		f.await(used)
		for len(f.workers) > 0 {
			f.pop().kill()
		}
		if i == 1 {
			f.redis.do(f.T, "flushall")
		}
		begin(f.hire(f.processes))
	}
}

// rolling replaces one process after the other, by turns one that is told to stop and one that is
// killed.
func rolling(f *fleet) {
	for i := range f.processes {
		f.await(f.limit * (i + 1) / 6)
		begin(f.hire(1))
		if i%2 == 0 {
			f.dismiss()
		} else {
			f.pop().kill()
		}
	}
}
