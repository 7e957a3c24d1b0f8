package petstoreredis_test

import (
	"encoding/csv"
	"flag"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
	"github.com/petstore/petstore-go/internal/golden"
)

// What docs/scaling.md says of fleets: a fleet of worker processes with the default options, minutes
// of real time, and all that may go wrong with the Redis that they share. It takes twenty minutes,
// so that a release runs it:
//
//	go test -v -count 1 -timeout 2h -parallel 8 -run OnRedisTable . -table
//
// With UPDATE_GOLDEN=1 as well it writes the rows that have run into tableFile. Without -table, the
// rows that are brief run for one window less, beside each other.

var wholeTable = flag.Bool("table", false, "run all of OnRedisTable, which takes twenty minutes of real time")

const (
	tableFile = "testdata/measured.csv"

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
	slowFor                      time.Duration // how long that lasts; 0: for ever
	drops                        int           // of a hundred commands, those that break their connection
	burners                      int           // processes that keep the machine busy
	failover                     bool          // the Redis has a replica and a Sentinel
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
	service   *fake.Server
	responses atomic.Int64
	start     time.Time
	workers   []*worker // that are at work
	gone      []*worker
	reports   []report
}

func TestOnRedisTable(t *testing.T) {
	table := &table{lines: map[string][]string{}}
	t.Cleanup(func() {
		if *wholeTable {
			table.finish(t)
		}
	})
	for _, r := range rows() {
		if !r.brief && !*wholeTable {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			if !r.alone() {
				t.Parallel()
			}
			table.add(r.name, r.run(t))
		})
	}
}

// alone reports whether a row must not run beside others: it measures, or it keeps the machine
// busy.
func (r row) alone() bool { return *wholeTable && (r.burners > 0 || r.share > 0) }

// run runs a row, and returns its line of the table.
func (r row) run(t *testing.T) []string {
	f := newFleet(t, r)
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
	m := f.measure(target, elapsed)
	f.check(m)
	return m.fields()
}

func newFleet(t *testing.T, r row) *fleet {
	t.Helper()
	f := &fleet{T: t, row: r}
	f.service = fakecontrol.New("", func(int) { f.responses.Add(1) }, fake.WithPlan(fake.Enterprise(r.limit, 0)),
		fake.WithBan(5, time.Hour), fake.WithLatency(tableLatency)).Server
	t.Cleanup(f.service.Close)
	if r.failover {
		f.sentinel = newSentinel(t)
	} else {
		f.redis = newRedisServer(t)
	}
	for _, w := range hire(t, r.burners, job{Burn: true, Redis: []string{"127.0.0.1:0"}, Service: f.service.URL()}) {
		begin([]*worker{w})
		t.Cleanup(w.kill)
	}
	return f
}

// hire adds workers with the default options, which do not begin yet.
func (f *fleet) hire(n int) []*worker {
	j := job{
		Service: f.service.URL(), Goroutines: f.goroutines, Delay: f.delay, SlowFor: f.slowFor, Drops: f.drops,
	}
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
func (f *fleet) dismiss() {
	w := f.pop()
	_ = w.input.Close()
	f.reports = append(f.reports, w.result(f.T))
}

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
	for f.responses.Load() < int64(2*responses) { // notified of when it comes, and when it goes
		if time.Since(f.start) > f.longest() {
			return
		}
		wait(f.Context(), 10*time.Millisecond)
	}
}

// longest is how long a row may take: the windows, and half a minute for what has gone wrong.
func (f *fleet) longest() time.Duration {
	return time.Duration(wholeWindows())*minute + 30*time.Second
}

// at waits until that long after the start.
func (f *fleet) at(d time.Duration) {
	f.Helper()
	wait(f.Context(), d-time.Since(f.start))
}

// table is the lines of the rows that have run.
type table struct {
	mu    sync.Mutex
	lines map[string][]string // by the name of the row
}

func (t *table) add(name string, line []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines[name] = line
}

// finish logs the table, and writes it if it is to be updated, with the old lines of the rows that
// have not run.
func (t *table) finish(tb testing.TB) {
	tb.Helper()
	file, err := os.Open(tableFile)
	require.NoError(tb, err)
	defer file.Close()
	old, err := csv.NewReader(file).ReadAll()
	require.NoError(tb, err)
	lines := [][]string{old[0]}
	for _, r := range rows() {
		line := t.lines[r.name]
		if i := slices.IndexFunc(old, func(known []string) bool { return known[0] == r.name }); line == nil && i > 0 {
			line = old[i]
		}
		if line != nil {
			lines = append(lines, line)
		}
	}
	var text strings.Builder
	require.NoError(tb, csv.NewWriter(&text).WriteAll(lines))
	tb.Logf("%d cores, load at the end of each row\n%s", runtime.NumCPU(), &text)
	if golden.Update() {
		require.NoError(tb, os.WriteFile(tableFile, []byte(text.String()), 0o644))
	}
}
