package petstoreredis_test

import (
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/fake"
)

// What docs/scaling.md says of fleets: worker processes with the default options, minutes of real
// time, and all that may go wrong with the Redis that they share. A release runs it:
//
//	go test -v -count 1 -timeout 1h -parallel 6 -run OnRedisTable . -table
//
// Without -table, the rows that are brief run for one window, beside each other.
var wholeTable = flag.Bool("table", false, "run all of OnRedisTable, which takes ten minutes of real time")

const (
	tableLatency = 150 * time.Millisecond
	minute       = time.Minute
)

// wholeWindows is how many windows of requests a row has. Half of another one follows, which the
// fleet must begin in time.
func wholeWindows() int {
	if *wholeTable {
		return 2
	}
	return 1
}

// row is one line of the table: a fleet, what goes wrong, and what must hold.
type row struct {
	name                         string
	limit, processes, goroutines int
	brief                        bool          // runs without -table, too
	delay                        time.Duration // of each command of Redis
	drops                        int           // of a hundred commands, those that break their connection
	failover                     bool          // the Redis has a replica and a Sentinel
	foreign                      time.Duration // another program makes a call so often
	during                       func(f *fleet)

	limited         int     // 429s at most, for each window if there is another program
	share, fairness float64 // at least; 0 if it does not matter
}

func (r row) id() string {
	return fmt.Sprintf("%s: %d × %d on %d", r.name, r.processes, r.goroutines, r.limit)
}

// fleet is the processes of a row and what they work with.
type fleet struct {
	*testing.T
	row
	redis    *redisServer
	sentinel *sentinel // nil without failover
	service  *fake.Server
	start    time.Time
	workers  []*worker // that are at work
	gone     []*worker
	others   []*worker
	reports  []report
}

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

// run runs a row, and returns its line of the table.
func (r row) run(t *testing.T) string {
	f := &fleet{T: t, row: r}
	f.service = fake.NewServer(fake.WithPlan(fake.Enterprise(r.limit, 0)), fake.WithBan(5, time.Hour),
		fake.WithLatency(tableLatency), fake.WithJournal(100_000))
	t.Cleanup(f.service.Close)
	if r.failover {
		f.sentinel = newSentinel(t)
	} else {
		f.redis = newRedisServer(t)
	}
	if r.foreign > 0 {
		f.others = hire(t, 1, job{Service: f.service.URL(), Goroutines: 1, Pause: r.foreign})
		begin(f.others)
	}
	f.hire(r.processes)
	f.start = time.Now()
	begin(f.workers)
	if r.during != nil {
		r.during(f)
	}
	target := r.limit*wholeWindows() + r.limit/2
	f.await(target)
	elapsed := time.Since(f.start)
	for len(f.workers) > 0 {
		f.dismiss()
	}
	return f.check(target, elapsed)
}

// hire adds workers with the default options, which do not begin yet.
func (f *fleet) hire(n int) []*worker {
	j := job{Service: f.service.URL(), Goroutines: f.goroutines, Delay: f.delay, Drops: f.drops}
	if f.sentinel != nil {
		j.Redis, j.Master = []string{f.sentinel.address}, sentinelMaster
	} else {
		j.Redis = []string{f.redis.address}
	}
	hired := hire(f.T, n, j)
	f.workers = append(f.workers, hired...)
	return hired
}

// dismiss has the first worker end its work.
func (f *fleet) dismiss() { f.reports = append(f.reports, f.pop().result(f.T)) }

// pop returns the first worker, which ends now.
func (f *fleet) pop() *worker {
	w := f.workers[0]
	f.workers = f.workers[1:]
	f.gone = append(f.gone, w)
	return w
}

// await waits until that many responses have come, or no more can be hoped for.
func (f *fleet) await(responses int) {
	f.Helper()
	longest := time.Duration(wholeWindows())*minute + 40*time.Second
	for len(f.with(http.StatusOK)) < responses && time.Since(f.start) < longest {
		wait(f.Context(), 50*time.Millisecond)
	}
}

// at waits until that long after the start.
func (f *fleet) at(d time.Duration) { wait(f.Context(), d-time.Since(f.start)) }

// with returns the requests with that status.
func (f *fleet) with(status int) []fake.Request {
	return slices.DeleteFunc(f.service.Requests(), func(r fake.Request) bool { return r.StatusCode != status })
}

// check compares what happened with the goals, and returns the line of the table.
func (f *fleet) check(target int, elapsed time.Duration) string {
	f.Helper()
	succeeded, limited := f.with(http.StatusOK), len(f.with(http.StatusTooManyRequests))
	if len(succeeded) >= target {
		last := succeeded[target-1]
		elapsed = last.Time.Add(last.Duration).Sub(f.start)
	}
	share := float64(min(len(succeeded), target)) / float64(target) * f.bound(target).Seconds() / elapsed.Seconds()
	fairness, done, trips, falls, longest := f.leastToMean(succeeded), 0, 0, 0, time.Duration(0)
	for _, r := range f.reports {
		done, trips, falls = done+r.Done, trips+r.Stats.RoundTrips, falls+r.Stats.Fallbacks
		longest = max(longest, r.Longest)
	}
	banned := !f.service.Usage(f.service.APIKey()).BannedUntil.IsZero()
	line := fmt.Sprintf("| %s | %d | %.2f | %.2f | %.2f | %.0f s | %d |", f.id(), limited, share, fairness, float64(trips)/float64(max(1, done)), longest.Seconds(), falls)
	f.Log(line)
	want := f.share
	if !*wholeTable { // one window, and other rows run beside it
		want *= 0.9
	}
	assert.LessOrEqual(f, limited, f.limited, "429s")
	assert.False(f, banned, "the key is banned")
	assert.GreaterOrEqual(f, share, want, "share of the bound")
	if *wholeTable && f.fairness > 0 {
		assert.GreaterOrEqual(f, fairness, f.fairness, "least to mean")
	}
	if f.Failed() || limited > 0 {
		f.facts()
	}
	return line
}

// leastToMean compares what the processes got of the whole windows. It is 0 if processes came and
// went.
func (f *fleet) leastToMean(succeeded []fake.Request) float64 {
	whole := succeeded[:min(len(succeeded), wholeWindows()*f.limit)]
	if len(f.gone) > f.processes || len(whole) == 0 {
		return 0
	}
	counts, least := map[string]int{}, len(whole)
	for _, r := range whole {
		counts[r.Header.Get("X-Worker")]++
	}
	for _, w := range f.gone {
		least = min(least, counts[w.id()])
	}
	return float64(least*f.processes) / float64(len(whole))
}

// bound is the least time that the windows allow for n requests.
func (f *fleet) bound(n int) time.Duration {
	whole, callers := (n-1)/f.limit, f.processes*f.goroutines
	rounds := (n - whole*f.limit + callers - 1) / callers
	return f.start.Truncate(time.Second).Sub(f.start) + time.Duration(whole)*minute + time.Duration(rounds)*tableLatency
}

// facts logs which process sent what when: each 429, and the requests before the first.
func (f *fleet) facts() {
	requests := f.service.Requests()
	first := slices.IndexFunc(requests, func(r fake.Request) bool { return r.StatusCode == http.StatusTooManyRequests })
	for i, r := range requests {
		if first >= 0 && (r.StatusCode != http.StatusOK || i > first-20 && i < first+20) {
			f.Logf("%8.3f s worker %s: %d, %s left, Reset %s, Retry-After %q", r.Time.Sub(f.start).Seconds(),
				r.Header.Get("X-Worker"), r.StatusCode, r.ResponseHeader.Get("X-RateLimit-Remaining"),
				r.ResponseHeader.Get("X-RateLimit-Reset"), r.ResponseHeader.Get("Retry-After"))
		}
	}
	for _, w := range f.gone {
		for line := range strings.Lines(w.errors.String()) {
			f.Logf("worker %s: %s", w.id(), line)
		}
	}
	f.Logf("start %s", f.start.Format(time.RFC3339Nano))
}
