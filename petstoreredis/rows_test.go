package petstoreredis_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
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
		{
			name:  "closed for a day, flushed, two restarted",
			limit: 300, processes: 8, goroutines: 1, idle: true, during: closedFlushed, goals: anyFallbacks,
		},
		{
			name:  "closed for a day, reopened by one",
			limit: 300, processes: 8, goroutines: 1, idle: true, during: closedReopened, goals: anyFallbacks,
		},
		{name: "state overwritten by junk", limit: 300, processes: 8, goroutines: 4, during: junk},
		{
			name:  "outstanding 100,000 too large",
			limit: 300, processes: 8, goroutines: 4, during: outstanding(100_000),
		},
		{
			name:  "outstanding 100,000 too small",
			limit: 300, processes: 8, goroutines: 4, during: outstanding(-100_000),
		},
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

// closedFlushed has one 429 close the key for a day. Then Redis loses its data and two processes
// start afresh. If they find an empty Redis, they ask the service, and all others learn from them
// that the key is open.
func closedFlushed(f *fleet) {
	f.closeForADay()
	f.redis.do(f.T, "flushall")
	for range 2 {
		f.pop().kill()
	}
	fresh := f.hire(2)
	begin(fresh)
	f.at(35 * time.Second)
	if counts := counts(f.with(http.StatusOK)); counts[fresh[0].id()]+counts[fresh[1].id()] == 0 {
		begin(fresh[:1]) // the others were first, and have told Redis of the closure: somebody must reopen the key
	}
	f.allWork()
}

// closedReopened has one of the processes told to reopen the key.
func closedReopened(f *fleet) {
	f.closeForADay()
	begin(f.workers[:1])
	f.allWork()
}

// closeForADay has one response close the key, and no other: the service has changed its mind.
func (f *fleet) closeForADay() {
	f.service.Inject(fake.Fault{Status: http.StatusTooManyRequests, RetryAfter: "86400", Skip: 20})
	f.at(15 * time.Second)
}

// allWork checks that each process sends requests in the second window.
func (f *fleet) allWork() {
	f.at(50 * time.Second)
	before := counts(f.with(http.StatusOK))
	f.at(80 * time.Second)
	after := counts(f.with(http.StatusOK))
	for _, w := range f.workers {
		assert.Greater(f, after[w.id()], before[w.id()], "worker %s does not work again", w.id())
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

// shift changes a sum in the state, in one step.
const shift = `
local s = cjson.decode(redis.call('GET', KEYS[1]))
if not s.outstanding then
  return 0
end
s.outstanding = s.outstanding + ARGV[1]
redis.call('SET', KEYS[1], cjson.encode(s), 'KEEPTTL')
return 1`

// outstanding makes the sum of the requests on their way wrong in each of the first two windows.
func outstanding(by int) func(f *fleet) {
	return func(f *fleet) {
		rdb := f.redis.client(f.T)
		for _, used := range []int{f.limit / 4, f.limit * 5 / 4} {
			f.await(used)
			keys, err := rdb.Keys(f.Context(), "petstore:*:state").Result()
			require.NoError(f, err)
			require.Len(f, keys, 1)
			done, err := rdb.Eval(f.Context(), shift, keys, by).Int()
			require.NoError(f, err)
			if done == 0 {
				f.Skip("the state has no sum of the requests on their way")
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
