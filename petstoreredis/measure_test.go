package petstoreredis_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/fake"
)

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
	succeeded := f.with(http.StatusOK)
	m := measured{
		row: f.row, limited: len(f.with(http.StatusTooManyRequests)),
		banned: !f.service.Usage(f.service.APIKey()).BannedUntil.IsZero(), load: load(),
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

// with returns the requests with that status.
func (f *fleet) with(status int) []fake.Request {
	return slices.DeleteFunc(f.service.Requests(), func(r fake.Request) bool { return r.StatusCode != status })
}

// counts returns how many of the requests are of each worker.
func counts(requests []fake.Request) map[string]int {
	counts := map[string]int{}
	for _, r := range requests {
		counts[r.Header.Get("X-Worker")]++
	}
	return counts
}

// leastToMean compares what the processes got of the whole windows. It is negative if processes
// came and went.
func (f *fleet) leastToMean(succeeded []fake.Request) float64 {
	whole := succeeded[:min(len(succeeded), wholeWindows()*f.limit)]
	if len(f.gone) > f.processes || len(whole) == 0 {
		return -1
	}
	counts, least := counts(whole), len(whole)
	for _, w := range f.gone {
		least = min(least, counts[w.id()])
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
	want := f.goals
	if !*wholeTable { // one window, and other rows run beside it
		want.share, want.fairness = 0.9*want.share, 0
	}
	assert.GreaterOrEqual(f, m.part, want.share, "share of the bound")
	// In a fair order nobody waits for a second window while there is room for all callers in one.
	// But where they want most of it, a process that asks late may find nothing left, a known
	// weakness. The rest is for Reset, which is rounded, and for what goes wrong.
	fair := 1 + f.processes*f.goroutines*5/4/f.limit
	assert.LessOrEqual(f, m.longest, time.Duration(fair)*minute+10*time.Second, "longest wait")
	if want.fairness > 0 {
		assert.GreaterOrEqual(f, m.fairness, want.fairness, "least to mean")
	}
	if want.trips > 0 {
		assert.LessOrEqual(f, m.perCall, want.trips, "round trips for each call")
	}
	if want.fallbacks >= 0 {
		assert.LessOrEqual(f, m.falls, want.fallbacks, "fallbacks")
	}
	f.Log(m.fields())
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
			r.Header.Get("X-Worker"), r.StatusCode, r.Duration, r.ResponseHeader.Get("X-RateLimit-Remaining"),
			r.ResponseHeader.Get("X-RateLimit-Limit"), r.ResponseHeader.Get("X-RateLimit-Reset"),
			r.ResponseHeader.Get("Retry-After"))
	}
	for _, r := range f.reports {
		f.Logf("%+v", r)
	}
}

// fields returns the line of the table.
func (m measured) fields() []string {
	ban, share, fairness := "no", fmt.Sprintf("%.3f", m.part), fmt.Sprintf("%.2f", m.fairness)
	if m.banned {
		ban = "banned"
	}
	if m.fairness < 0 {
		fairness = "–"
	}
	return []string{
		m.name, fmt.Sprintf("%d × %d on %d", m.processes, m.goroutines, m.limit), fmt.Sprint(m.limited), ban, share,
		fmt.Sprintf("%.2f", m.perCall), fairness, fmt.Sprintf("%.0f s", m.longest.Seconds()), fmt.Sprint(m.falls),
		fmt.Sprint(m.lines), m.load,
	}
}
