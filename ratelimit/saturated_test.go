package ratelimit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// condition is one way in which a service, a network or a program differs from what the service
// document says. Its zero value does not differ.
type condition struct {
	name  string
	ratio float64 // the longest time that a job may take, as a part of the shortest; 0 is any
	most  int     // 429s that it may earn
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
			s.Window, s.PerMinute, s.BanAfter = window, perMinute, 5
			p.Start, p.Workers, p.Calls = time.Unix(1_000_000_020, 300_000_000), workers, perMinute*9/2
			Run(&s, rand.New(rand.NewPCG(1, uint64(i))), []*Process{&p}, p.Start, p.Start.Add(2*time.Hour))
			grain := time.Second
			if window == Aligned {
				grain = time.Minute
			}
			opens := p.Start.Truncate(grain).Add(4 * time.Minute) // when the last calls have room
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
