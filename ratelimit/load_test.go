package ratelimit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A burst that fits into the window takes at most three round trips longer than without a limiter,
// whatever the process did before.
func TestLimiterBursts(t *testing.T) {
	type history struct {
		calls   int
		pause   time.Duration // after each
		restart bool
	}
	histories := []history{{}, {4, time.Second / 2, false}, {4, time.Second / 2, true}, {2, 10 * time.Second, false}, {2, 150 * time.Second, false}}
	for _, b := range []struct {
		perMinute, calls, goroutines int
		took                         time.Duration
	}{
		{300, 200, 200, 400 * time.Millisecond}, {60, 40, 40, 400 * time.Millisecond},
		{60, 55, 55, 100 * time.Millisecond}, {60, 48, 16, 300 * time.Millisecond},
		{1_000, 900, 512, 300 * time.Millisecond}, {60, 20, 20, 100 * time.Millisecond},
		{60, 50, 8, 900 * time.Millisecond}, {300, 250, 64, 200 * time.Millisecond},
		{300, 290, 290, 900 * time.Millisecond}, {1_000, 100, 100, 100 * time.Millisecond},
		{1_000, 900, 900, 900 * time.Millisecond}, {1_000, 800, 64, 100 * time.Millisecond},
	} {
		for i := range 3 * len(histories) {
			window, before := []windowKind{Fixed, Aligned, Sliding}[i%3], histories[i/3]
			test(t, fmt.Sprintf("%+v, %s, before: %+v", b, window, before), func(t *testing.T, l *limiter) {
				s := &Service{Clock: time.Now, PerMinute: b.perMinute, Window: window}
				for range before.calls {
					l.permit().Release(carry(s, b.took))
					time.Sleep(before.pause)
				}
				if before.restart {
					l.Limiter = New()
				}
				start, rounds := time.Now(), (b.calls+b.goroutines-1)/b.goroutines
				var all sync.WaitGroup
				for g := range b.goroutines {
					all.Go(func() {
						for call := g; call < b.calls; call += b.goroutines {
							l.permit().Release(carry(s, b.took))
						}
					})
				}
				all.Wait()
				assert.LessOrEqual(t, time.Since(start), time.Duration(rounds+3)*b.took+time.Second/10)
				assert.Zero(t, s.Rejected)
			})
		}
	}
}

// Far from the limit no call waits for long. Programs use half of what the key allows for five
// minutes, at random times, with one call or ten at once. In some of the cases one response in
// fifty comes 25 s late.
func TestLoads(t *testing.T) {
	for i := range 3 * 3 * 3 * 2 * 2 {
		take := func(n int) int { defer func() { i /= n }(); return i % n }
		perMinute, programs := []int{60, 300, 1_000}[take(3)], []int{1, 2, 8}[take(3)]
		window := []windowKind{Fixed, Aligned, Sliding}[take(3)]
		batch, slow := []int{1, 10}[take(2)], []float64{0, 0.02}[take(2)]
		if batch*programs > perMinute {
			continue // together these programs may ask for too much at one time
		}
		const workers = 8 // so that a slow response does not keep the others from being asked for
		start := time.Unix(1_000_000_020, 0)
		every := 2 * time.Minute * time.Duration(workers*programs*batch) / time.Duration(perMinute)
		var all []*Process
		for range programs {
			all = append(all, &Process{Start: start, Workers: workers, Batch: batch, Every: every, CatchUp: true, Slow: slow})
		}
		s := &Service{PerMinute: perMinute, Window: window}
		Run(s, rand.New(rand.NewPCG(9, 9)), all, start, start.Add(5*time.Minute))
		var waits []time.Duration
		for _, p := range all {
			waits = append(waits, p.Waits...)
		}
		slices.Sort(waits)
		name := fmt.Sprintf("%d programs, %d at once, %d a minute, %s, slow %v", programs, batch, perMinute, window, slow)
		most, longest := time.Duration(0), 300*time.Millisecond // a request takes 200 ms at most
		if batch > 1 {
			most = longest // the batches at the start are more than 1 % of all calls
		}
		if programs*batch > perMinute/4 {
			most, longest = 3*time.Second, 3*time.Second // two batches together may use up what is safe
		}
		assert.LessOrEqual(t, waits[len(waits)*99/100], most, "of 99 %%: %s", name)
		assert.LessOrEqual(t, waits[len(waits)-1], longest, name)
		assert.Zero(t, s.Rejected, name)
	}
}

// condition is one way in which a service, a network or a program differs from what the service
// document says. Its zero value does not differ.
type condition struct {
	name  string
	ratio float64 // the longest time that a job may take, as a part of the shortest; 0 is any
	most  int     // 429s that it may earn
	day   int     // windows after which the quota of the day is used up; 0 is never
	set   func(s *Service, p *Process)
}

// conditions returns all conditions, the one without a difference first.
func conditions() []condition {
	const skew = 10 * time.Minute
	hourAgo := func(now, _ time.Time) time.Time { return now.Add(-time.Hour) }
	inTenYears := func(now, _ time.Time) time.Time { return now.AddDate(10, 0, 0) }
	fromNow := func(now, reset time.Time) time.Time { return time.Unix(0, 0).Add(reset.Sub(now)) }
	return []condition{
		{name: "plain", ratio: 1.04, set: func(*Service, *Process) {}},
		{name: "a clock 10 minutes ahead", ratio: 1.04, set: func(s *Service, p *Process) { s.Skew = skew }},
		{name: "a clock 10 minutes behind", ratio: 1.04, set: func(s *Service, p *Process) { s.Skew = -skew }},
		{name: "no Date", ratio: 1.04, set: func(s *Service, p *Process) { s.NoDate = true }},
		{name: "no Date, Reset 10 minutes ahead", ratio: 1.12, set: func(s *Service, p *Process) { s.NoDate = true; s.Skew = skew }},
		{name: "no Date, Reset 10 minutes behind", ratio: 1.12, set: func(s *Service, p *Process) { s.NoDate = true; s.Skew = -skew }},
		{name: "Reset is an hour ago", ratio: 1.12, set: func(s *Service, p *Process) { s.Reset = hourAgo }},
		{name: "Reset is in ten years", ratio: 1.12, set: func(s *Service, p *Process) { s.Reset = inTenYears }},
		{name: "Reset counts from now", ratio: 1.12, set: func(s *Service, p *Process) { s.Reset = fromNow }},
		{name: "no Retry-After", ratio: 1.05, set: func(s *Service, p *Process) { s.NoRetry = true }},
		{name: "one response in ten has no headers", ratio: 1.05, set: func(s *Service, p *Process) { s.Bare = 10 }},
		{name: "no headers", most: 1 << 30, set: func(s *Service, p *Process) { s.Bare = 1 }},
		{name: "twice the plan after 100 seconds", ratio: 1, most: 2, set: func(s *Service, p *Process) { s.Doubles = time.Unix(1_000_000_120, 0) }},
		{name: "one response in fifty comes 25 s late", ratio: 1.5, set: func(s *Service, p *Process) { p.Slow = 0.02 }},
		// When both windows are used up at once, the headers show that of the minute.
		{name: "the day is used up after three windows", ratio: 1.01, most: 1, day: 3, set: func(*Service, *Process) {}},
		{name: "some requests are not sent, or lost", ratio: 1.15, most: 2, set: func(s *Service, p *Process) { p.Fails = true }},
	}
}

// TestSaturated runs jobs of four and a half windows, by one process that is alone, under each
// condition: with how many workers and in which window does not matter.
func TestSaturated(t *testing.T) {
	t.Parallel()
	for i, c := range conditions() {
		worst, rejected, bans := 0.0, 0, 0
		for j := range 3 * 3 * 3 {
			take := func(n int) int { defer func() { j /= n }(); return j % n }
			window, perMinute := []windowKind{Fixed, Aligned, Sliding}[take(3)], []int{60, 300, 1_000}[take(3)]
			workers := []int{8, 64, 512}[take(3)]
			if workers == 8 && perMinute == 1_000 || !all() && (i+workers+perMinute/20)%4 != 0 {
				continue // eight workers cannot use so much
			}
			var s Service
			var p Process
			c.set(&s, &p)
			s.Window, s.PerMinute, s.PerDay, s.BanAfter = window, perMinute, c.day*perMinute, 5
			p.Start, p.Workers, p.Calls = time.Unix(1_000_000_020, 300_000_000), workers, perMinute*9/2
			Run(&s, rand.New(rand.NewPCG(1, uint64(i))), []*Process{&p}, p.Start, p.Start.Add(26*time.Hour))
			grain := time.Second
			if window == Aligned {
				grain = time.Minute
			}
			opens := p.Start.Truncate(grain).Add(4 * time.Minute) // when the last calls have room
			if c.day > 0 && window == Aligned {
				opens = p.Start.Truncate(24 * time.Hour).Add(24*time.Hour + time.Minute)
			} else if c.day > 0 {
				opens = opens.Add(24*time.Hour - 3*time.Minute)
			}
			ratio := p.Finished.Sub(p.Start).Seconds() / opens.Sub(p.Start).Seconds()
			if window == Sliding && strings.Contains(c.name, "Reset") {
				ratio /= 2 // a minute after the first response, only few requests have left the window
			}
			name := fmt.Sprintf("%s: %s, %d a minute, %d workers", c.name, window, perMinute, workers)
			assert.GreaterOrEqual(t, p.Done, p.Calls*95/100, name)
			assert.True(t, c.ratio == 0 || ratio <= c.ratio, "%s: %.3f times the shortest time", name, ratio)
			assert.LessOrEqual(t, s.Rejected, c.most, "429s: %s", name)
			assert.Zero(t, s.Bans, "bans: %s", name)
			worst, rejected, bans = max(worst, ratio), rejected+s.Rejected, bans+s.Bans
		}
		t.Logf("%-40s %.3f times the shortest time, %d 429s, %d bans", c.name, worst, rejected, bans)
	}
}

// FuzzBudget lets a process use a service under random conditions, in which responses and requests
// overtake each other.
func FuzzBudget(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 7))
		s := &Service{
			Window:    []windowKind{Fixed, Aligned, Sliding}[random.IntN(3)],
			PerMinute: 5 + random.IntN(60), PerDay: 200 + random.IntN(2000),
		}
		if random.IntN(2) == 0 {
			s.Skew = time.Duration(random.Int64N(int64(20*time.Minute))) - 10*time.Minute
		}
		start := time.Unix(1_000_000_000+random.Int64N(1e6), random.Int64N(1e9))
		p := &Process{Workers: 1 + random.IntN(12), Start: start}
		all, honest := []*Process{p}, false
		switch random.IntN(4) {
		case 0:
			all = append(all, &Process{Workers: 3, Every: 5 * time.Second, Heedless: true})
		case 1:
			s.NoDate, s.Skew = true, 0
			s.Bare = random.IntN(2)
		default:
			honest = true
		}
		// Without the response to the first request, it is not known when a sliding window has room
		// again.
		p.Fails = !honest || s.Window == Fixed || s.Window == Aligned
		Run(s, random, all, start, start.Add(20*time.Minute))
		assert.Zero(t, p.Early, "requests before the end of a lockout, or together after a 429")
		least := 10
		if honest {
			most := 0
			if s.day.left() == 0 {
				most = 1 // the headers show only the minute if it is used up at the same time
			}
			assert.LessOrEqual(t, s.Rejected, most, "429s")
			least = min(17*s.PerMinute, s.PerDay*9/10)
		}
		assert.GreaterOrEqual(t, p.Done, least, "calls that succeeded")
	})
}
