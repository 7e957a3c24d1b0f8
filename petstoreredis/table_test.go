package petstoreredis_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/fake"
)

// The table of docs/scaling.md: a fleet of worker processes with the default options, minutes of real time, and all
// that may go wrong with the Redis that they share. It takes half an hour, so that a release runs it:
//
//	go test -v -count 1 -timeout 2h -parallel 4 -run OnRedisTable . -table

var wholeTable = flag.Bool("table", false, "run OnRedisTable, which takes half an hour of real time")

const (
	tableLatency = 150 * time.Millisecond
	minute       = time.Minute
	// A row has two windows of requests and half of a third, which the fleet must begin in time.
	wholeWindows = 2
	windows      = wholeWindows + 0.5
)

// row is one line of the table: a fleet, what goes wrong, and what must hold.
type row struct {
	name                         string
	limit, processes, goroutines int
	delay                        time.Duration // of each command of Redis
	drops                        int           // of a hundred commands, those that break their connection
	burners                      int           // processes that keep the machine busy
	failover                     bool          // the Redis has a replica and a Sentinel
	idle                         bool          // too few requests can be sent for a share
	during                       func(f *fleet)

	goals
}

// goals is what a row must reach besides two 429s at most and no ban; 0 if it does not matter.
type goals struct {
	share, fairness float64 // at least
	trips           float64 // at most
	fallbacks       int     // at most, and so the lines of the log; -1 if any
}

// fleet is the processes of a row and what they work with.
type fleet struct {
	*testing.T
	row
	redis     *redisServer
	sentinel  *sentinel // nil without failover
	proxy     *proxy
	service   *fake.Server
	responses atomic.Int64
	start     time.Time
	workers   []*worker // that are at work
	gone      []*worker
	reports   []report
}

func TestOnRedisTable(t *testing.T) {
	if !*wholeTable {
		t.Skip("takes half an hour of real time: see -table")
	}
	table := &table{}
	t.Cleanup(func() { t.Logf("\n%s", table) })
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			if !r.alone() {
				t.Parallel()
			}
			table.add(r.run(t))
		})
	}
}

// alone reports whether a row must not run beside others: it measures, or it keeps the machine busy.
func (r row) alone() bool { return r.burners > 0 || r.share > 0 }

// run runs a row, and returns its line of the table.
func (r row) run(t *testing.T) string {
	f := newFleet(t, r)
	f.hire(r.processes)
	f.start = time.Now()
	begin(f.workers)
	if r.during != nil {
		r.during(f)
	}
	target := int(windows * float64(r.limit))
	f.await(target)
	elapsed := time.Since(f.start)
	for len(f.workers) > 0 {
		f.dismiss(0)
	}
	m := f.measure(target, elapsed)
	f.check(m)
	return m.String()
}

func newFleet(t *testing.T, r row) *fleet {
	t.Helper()
	f := &fleet{T: t, row: r}
	f.service = fake.NewServer(fake.WithPlan(fake.Enterprise(r.limit, 0)), fake.WithBan(5, time.Hour),
		fake.WithLatency(tableLatency), fake.WithNotify(func(int) { f.responses.Add(1) }))
	t.Cleanup(f.service.Close)
	if r.failover {
		f.sentinel = newSentinel(t)
	} else {
		f.redis = newRedisServer(t)
		f.proxy = newProxy(t, f.redis.address, r.delay, r.drops)
	}
	for _, w := range hire(t, r.burners, job{Burn: true, Redis: []string{"127.0.0.1:0"}, Service: f.service.URL()}) {
		begin([]*worker{w})
		t.Cleanup(w.kill)
	}
	return f
}

// job is that of each worker: the default options.
func (f *fleet) job() job {
	j := job{Service: f.service.URL(), Goroutines: f.goroutines}
	switch {
	case f.sentinel != nil:
		j.Redis, j.Master = []string{f.sentinel.address}, sentinelMaster
	case f.delay > 0 || f.drops > 0:
		j.Redis = []string{f.proxy.address}
	default:
		j.Redis = []string{f.redis.address}
	}
	return j
}

// hire adds workers, which do not begin yet.
func (f *fleet) hire(n int) []*worker {
	hired := hire(f.T, n, f.job())
	f.workers = append(f.workers, hired...)
	return hired
}

// dismiss has a worker end its work.
func (f *fleet) dismiss(i int) {
	w := f.workers[i]
	f.workers = slices.Delete(f.workers, i, i+1)
	f.gone = append(f.gone, w)
	_ = w.input.Close()
	f.reports = append(f.reports, w.result(f.T))
}

// kill ends a worker at once.
func (f *fleet) kill(i int) {
	w := f.workers[i]
	f.workers = slices.Delete(f.workers, i, i+1)
	f.gone = append(f.gone, w)
	w.kill()
}

// await waits until that many responses have come, or no more can be hoped for.
func (f *fleet) await(responses int) {
	f.Helper()
	for f.responses.Load() < int64(2*responses) { // notified of when it comes, and when it goes
		if time.Since(f.start) > f.longest() {
			return
		}
		wait(f.Context(), 10*time.Millisecond)
	}
}

// longest is how long a row may take: the windows, and half a minute for what has gone wrong.
func (f *fleet) longest() time.Duration {
	return wholeWindows*minute + 30*time.Second
}

// at waits until that long after the start.
func (f *fleet) at(d time.Duration) {
	f.Helper()
	wait(f.Context(), d-time.Since(f.start))
}

// measured is the line of a row.
type measured struct {
	row
	limited  int
	banned   bool
	part     float64 // of the bound
	perCall  float64 // trips
	fairness float64 // least to mean
	longest  time.Duration
	falls    int
	lines    int
	load     string
}

func (f *fleet) measure(target int, elapsed time.Duration) measured {
	m := measured{row: f.row, banned: !f.service.Usage(f.service.APIKey()).BannedUntil.IsZero(), load: load()}
	var succeeded []fake.Request
	for _, r := range f.service.Requests() {
		switch r.StatusCode {
		case http.StatusTooManyRequests:
			m.limited++
		case http.StatusOK:
			succeeded = append(succeeded, r)
		}
	}
	if len(succeeded) >= target {
		last := succeeded[target-1]
		elapsed = last.Time.Add(last.Duration).Sub(f.start)
	}
	m.part = float64(min(len(succeeded), target)) / float64(target) * f.bound(target).Seconds() / elapsed.Seconds()
	m.fairness = f.leastToMean(succeeded)
	done, trips := 0, 0
	for _, r := range f.reports {
		done += r.Done
		trips += r.Stats.RoundTrips
		m.longest = max(m.longest, r.Longest)
		m.falls += r.Stats.Fallbacks
	}
	m.perCall = float64(trips) / float64(max(1, done))
	for _, w := range f.gone {
		m.lines += strings.Count(w.errors.String(), "petstoreredis:")
	}
	return m
}

// leastToMean compares what the processes got of the whole windows. It is 1 if processes came and went.
func (f *fleet) leastToMean(succeeded []fake.Request) float64 {
	whole := succeeded[:min(len(succeeded), wholeWindows*f.limit)]
	if len(f.gone) > f.processes || len(whole) == 0 {
		return 1
	}
	counts := map[string]int{}
	for _, r := range whole {
		counts[r.Header.Get("X-Worker")]++
	}
	least := len(whole)
	for _, w := range f.gone {
		least = min(least, counts[strconv.Itoa(w.Process.Pid)])
	}
	return float64(least*f.processes) / float64(len(whole))
}

// bound is the least time that the windows allow for n requests.
func (f *fleet) bound(n int) time.Duration {
	whole := (n - 1) / f.limit
	callers := f.processes * f.goroutines
	rounds := (n - whole*f.limit + callers - 1) / callers
	return f.start.Truncate(time.Second).Sub(f.start) + time.Duration(whole)*minute + time.Duration(rounds)*tableLatency
}

// load is that of the machine, as Linux has it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	return strings.Fields(string(text))[0]
}

func (f *fleet) check(m measured) {
	f.Helper()
	assert.LessOrEqual(f, m.limited, 2, "429s")
	assert.False(f, m.banned, "the key is banned")
	assert.GreaterOrEqual(f, m.part, f.goals.share, "share of the bound")
	assert.GreaterOrEqual(f, m.fairness, f.goals.fairness, "least to mean")
	assert.LessOrEqual(f, m.longest, 2*minute+time.Second, "longest wait")
	if f.goals.trips > 0 {
		assert.LessOrEqual(f, m.perCall, f.goals.trips, "round trips for each call")
	}
	if f.goals.fallbacks >= 0 {
		assert.LessOrEqual(f, m.falls, f.goals.fallbacks, "fallbacks")
	}
	f.Log(m)
	f.spread()
	if f.Failed() || m.limited > 0 {
		f.facts()
	}
}

// facts logs which process sent what when: each 429, and the requests before the first.
func (f *fleet) facts() {
	f.Helper()
	requests := f.service.Requests()
	first := slices.IndexFunc(requests, func(r fake.Request) bool { return r.StatusCode == http.StatusTooManyRequests })
	for i, r := range requests {
		if first < 0 || r.StatusCode == http.StatusOK && (i < first-40 || i > first+80) {
			continue
		}
		f.Logf("%8.3f s worker %s: %d after %s, %s of %s left, Reset %s, Retry-After %q", r.Time.Sub(f.start).Seconds(),
			r.Header.Get("X-Worker"), r.StatusCode, r.Duration, r.AnswerHeader.Get("X-RateLimit-Remaining"),
			r.AnswerHeader.Get("X-RateLimit-Limit"), r.AnswerHeader.Get("X-RateLimit-Reset"),
			r.AnswerHeader.Get("Retry-After"))
	}
	for _, r := range f.reports {
		f.Logf("%+v", r)
	}
}

// spread logs how many requests of each window the processes had.
func (f *fleet) spread() {
	f.Helper()
	counts := map[string]map[string]int{}
	for _, r := range f.service.Requests() {
		window := r.AnswerHeader.Get("X-RateLimit-Reset")
		if counts[window] == nil {
			counts[window] = map[string]int{}
		}
		counts[window][r.Header.Get("X-Worker")]++
	}
	delete(counts, "") // no response
	for _, window := range slices.Sorted(maps.Keys(counts)) {
		f.Logf("window until %s: %d processes, requests %v", window, len(counts[window]),
			slices.Sorted(maps.Values(counts[window])))
	}
}

func (m measured) String() string {
	ban, share := "no", strconv.FormatFloat(m.part, 'f', 3, 64)
	if m.banned {
		ban = "**banned**"
	}
	if m.idle {
		share = "–"
	}
	return fmt.Sprintf("| %s | %d × %d on %d | %d | %s | %s | %.2f | %.2f | %.0f s | %d | %d | %s |", m.name, m.processes,
		m.goroutines, m.limit, m.limited, ban, share, m.perCall, m.fairness, m.longest.Seconds(), m.falls, m.lines, m.load)
}

// table is the lines of the rows in the order in which they stand in rows.
type table struct {
	mu    sync.Mutex
	lines []string
}

func (t *table) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
}

func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	order := map[string]int{}
	for i, r := range rows() {
		order[r.name] = i
	}
	name := func(line string) int { return order[strings.Split(line, " | ")[0][len("| "):]] }
	slices.SortFunc(t.lines, func(a, b string) int { return cmp.Compare(name(a), name(b)) })
	return fmt.Sprintf("%d cores, load at the end of each row\n", runtime.NumCPU()) +
		"| situation | fleet | 429s | ban | share of the bound | trips a call | least/mean | longest wait | fallbacks | " +
		"log lines | load |\n|---|---|---|---|---|---|---|---|---|---|---|\n" + strings.Join(t.lines, "\n")
}
