package ratelimit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var windows = []windowKind{fixed, aligned, sliding}

// TestBursts makes calls that fit into a window, all at once or by some workers. With the limiter,
// they take at most three round trips longer than without, also after a restart.
func TestBursts(t *testing.T) {
	bursts := []struct{ perMinute, calls, workers int }{
		{60, 20, 20}, {60, 40, 40}, {60, 48, 16}, {60, 50, 8}, {300, 200, 200}, {300, 250, 64}, {300, 290, 290},
		{1_000, 100, 100}, {1_000, 900, 512},
	}
	cases(3*4*len(bursts), func(_ int, take func(int) int) {
		window, before, restart, b := windows[take(3)], 4*take(2), take(2) == 1, bursts[take(len(bursts))]
		start, random := time.Unix(1_000_000_020, 0), rand.New(rand.NewPCG(1, 1))
		s := &service{perMinute: b.perMinute, window: window}
		p := &process{start: start, workers: min(1, before), calls: before}
		simulate(s, random, []*process{p}, start, start.Add(10*time.Second))
		next := &process{start: start.Add(10 * time.Second), workers: b.workers, calls: b.calls}
		if !restart {
			next.budget = p.budget
		}
		simulate(s, random, []*process{next}, next.start, next.start.Add(time.Minute))
		name := fmt.Sprintf("%+v, %s, %d calls before, restart: %v", b, window, before, restart)
		const longest = 200 * time.Millisecond
		rounds := (b.calls + b.workers - 1) / b.workers
		assert.LessOrEqual(t, next.finished.Sub(next.start), time.Duration(rounds+3)*longest, name)
		assert.Equal(t, b.calls, next.done, name)
		assert.Zero(t, s.rejected, name)
	})
}

// TestLoads runs programs for five minutes. They make calls at random times, one or ten together,
// and use half of the limit. No call waits for long, even if one response in fifty comes 25 s late.
func TestLoads(t *testing.T) {
	cases(3*3*3*2*2, func(_ int, take func(int) int) {
		const workers = 8 // so many that slow responses do not hold up all calls
		perMinute, programs, window := []int{60, 300, 1_000}[take(3)], []int{1, 2, 8}[take(3)], windows[take(3)]
		batch, slow := []int{1, 10}[take(2)], []float64{0, 0.02}[take(2)]
		if batch*programs > perMinute {
			return // together, the batches of these programs may be more than the limit
		}
		start := time.Unix(1_000_000_020, 0)
		every := 2 * time.Minute * time.Duration(workers*programs*batch) / time.Duration(perMinute)
		all := make([]*process, programs)
		for i := range all {
			all[i] = &process{start: start, workers: workers, batch: batch, every: every, catchUp: true, slow: slow}
		}
		s := &service{perMinute: perMinute, window: window}
		simulate(s, rand.New(rand.NewPCG(9, 9)), all, start, start.Add(5*time.Minute))
		var waits []time.Duration
		for _, p := range all {
			waits = append(waits, p.waits...)
		}
		slices.Sort(waits)
		most, longest := time.Duration(0), 300*time.Millisecond // a request takes 200 ms at most
		if batch > 1 {
			most = longest // more than 1 % of all calls are in batches at the start, and have to wait
		}
		if programs*batch > perMinute/4 {
			most, longest = 3*time.Second, 3*time.Second // two batches at a time have to wait
		}
		name := fmt.Sprintf("%d programs, %d at once, %d a minute, %s, slow %v", programs, batch, perMinute, window, slow)
		assert.LessOrEqual(t, waits[len(waits)*99/100], most, "of 99 %%: %s", name)
		assert.LessOrEqual(t, waits[len(waits)-1], longest, name)
		assert.Zero(t, s.rejected, name)
	})
}

// conditions are ways in which a service, a network or a program differs from the service document.
var conditions = []struct {
	name  string
	ratio float64 // the longest time that a job may take, divided by the shortest
	most  int     // 429s that the job may get
	day   int     // windows after which the quota of the day is used up; 0: never
	set   func(s *service, p *process)
}{
	{"plain", 1.04, 0, 0, func(*service, *process) {}},
	{"a clock 10 minutes ahead", 1.04, 0, 0, func(s *service, _ *process) { s.skew = skew }},
	{"a clock 10 minutes behind", 1.04, 0, 0, func(s *service, _ *process) { s.skew = -skew }},
	{"no Date", 1.04, 0, 0, func(s *service, _ *process) { s.alter = noDate }},
	{"no Date, Reset 10 minutes ahead", 1.12, 0, 0, func(s *service, _ *process) { s.alter, s.skew = noDate, skew }},
	{"no Date, Reset 10 minutes behind", 1.12, 0, 0, func(s *service, _ *process) { s.alter, s.skew = noDate, -skew }},
	{"Reset is an hour ago", 1.12, 0, 0, func(s *service, _ *process) { s.alter = resetIn(-time.Hour) }},
	{"Reset is in two years", 1.12, 0, 0, func(s *service, _ *process) { s.alter = resetIn(2 * 365 * 24 * time.Hour) }},
	{"no Retry-After", 1.05, 0, 0, func(s *service, _ *process) { s.alter = func(o *Outcome) { o.RetryAfter = 0 } }},
	{"one response in ten has no headers", 1.05, 0, 0, func(s *service, _ *process) {
		s.alter = func(o *Outcome) {
			if s.requests%10 == 4 {
				o.Window = Window{}
			}
		}
	}},
	{"no headers", 4, 1 << 30, 0, func(s *service, _ *process) { s.alter = func(o *Outcome) { o.Window = Window{} } }},
	{"twice the plan after 100 seconds", 1, 2, 0, func(s *service, _ *process) {
		s.alter = func(o *Outcome) {
			if o.Date.Unix() >= 1_000_000_120 {
				s.minute.limit = 2 * s.perMinute
			}
		}
	}},
	{"one response in fifty comes 25 s late", 1.5, 0, 0, func(_ *service, p *process) { p.slow = 0.02 }},
	// When both windows are used up at once, the headers show only that of the minute.
	{"the day is used up after three windows", 1.01, 1, 3, func(*service, *process) {}},
	{"some requests are never sent, some are lost", 1.15, 2, 0, func(_ *service, p *process) { p.fails = true }},
}

const skew = 10 * time.Minute

func noDate(o *Outcome) { o.Date = time.Time{} }

func resetIn(d time.Duration) func(*Outcome) {
	return func(o *Outcome) { o.Window.Reset = o.Date.Add(d) }
}

// TestSaturated runs jobs of four and a half windows under each condition, in one process that is
// alone. The same goals hold for any number of workers and any kind of window.
func TestSaturated(t *testing.T) {
	t.Parallel()
	for i, c := range conditions {
		cases(3*3*3, func(_ int, take func(int) int) {
			window, perMinute, workers := windows[take(3)], []int{60, 300, 1_000}[take(3)], []int{8, 64, 512}[take(3)]
			if workers == 8 && perMinute == 1_000 || !all() && (i+workers+perMinute/20)%4 != 0 {
				return // eight workers cannot use 1,000 a minute; by default, one case in four
			}
			var s service
			var p process
			c.set(&s, &p)
			s.window, s.perMinute, s.perDay, s.banAfter = window, perMinute, c.day*perMinute, 5
			p.start, p.workers, p.calls = time.Unix(1_000_000_020, 300_000_000), workers, perMinute*9/2
			simulate(&s, rand.New(rand.NewPCG(1, uint64(i))), []*process{&p}, p.start, p.start.Add(26*time.Hour))
			grain := time.Second
			if window == aligned {
				grain = time.Minute
			}
			opens := p.start.Truncate(grain).Add(4 * time.Minute) // room for the last calls
			if c.day > 0 && window == aligned {
				opens = p.start.Truncate(day).Add(day + time.Minute)
			} else if c.day > 0 {
				opens = opens.Add(day - 3*time.Minute)
			}
			ratio := p.finished.Sub(p.start).Seconds() / opens.Sub(p.start).Seconds()
			if window == sliding && strings.Contains(c.name, "Reset") {
				ratio /= 2 // a minute after the first response, a sliding window has little room
			}
			name := fmt.Sprintf("%s: %s, %d a minute, %d workers", c.name, window, perMinute, workers)
			assert.GreaterOrEqual(t, p.done, p.calls*95/100, name)
			assert.LessOrEqual(t, ratio, c.ratio, "times the shortest time: %s", name)
			assert.LessOrEqual(t, s.rejected, c.most, "429s: %s", name)
			assert.Zero(t, s.bans, "bans: %s", name)
		})
	}
}

// FuzzBudget lets a process use a service with a random plan. Requests and responses overtake each
// other. The clock of the service may be wrong, or its responses lack a Date. Some requests are not
// sent, some are lost.
func FuzzBudget(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 7))
		s := &service{window: windows[random.IntN(3)], perMinute: 5 + random.IntN(60), perDay: 200 + random.IntN(2000)}
		if s.alter = noDate; random.IntN(4) > 0 {
			s.alter, s.skew = nil, time.Duration(random.Int64N(int64(2*skew)))-skew
		}
		start := time.Unix(1_000_000_000+random.Int64N(1e6), random.Int64N(1e9))
		// In a sliding window no request is lost: without the first response, its end is not known.
		p := &process{workers: 1 + random.IntN(12), start: start, fails: s.window != sliding}
		simulate(s, random, []*process{p}, start, start.Add(20*time.Minute))
		most := 0
		if s.day.left() == 0 {
			most = 1 // if minute and day are used up at the same time, the headers show only the minute
		}
		assert.LessOrEqual(t, s.rejected, most, "429s")
		assert.GreaterOrEqual(t, p.done, min(17*s.perMinute, s.perDay*9/10), "calls that succeeded")
	})
}
