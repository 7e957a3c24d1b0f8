package ratelimit

import (
	"math/rand/v2"
	"time"
)

// Told is what the processes of a Growth know about their number.
type Told string

// What they know.
const (
	Untold  Told = "untold"  // nothing
	ToldOld Told = "told"    // the number of those that were there before, which stay
	Leaving Told = "leaving" // the same; they stop when the new ones have started
)

// Growth is a deployment that grows while it is at work: new processes start beside old ones. Each
// has four workers, and the service bans the key after five further requests.
type Growth struct {
	Old, New  int
	PerMinute int
	Demand    float64       // of all together, as a part of what the key allows
	Within    time.Duration // the new ones start at random within this time; 0 is all at once
	Told      Told
	Window    windowKind
	CatchUp   bool // workers make up for their delays
	Seed      uint64
}

// Grown is the outcome of a Growth.
type Grown struct {
	Rejected int     // 429s
	Worst    int     // 429s of a new process, at most
	Bans     int     // of the key
	Share    float64 // of what the processes wanted and the key allows
}

// Run runs the deployment for five minutes after its growth.
func (g Growth) Run() Grown {
	const workers = 4
	random := rand.New(rand.NewPCG(g.Seed, 1))
	start := time.Unix(1_000_000_020, 0).Add(time.Duration(random.Int64N(int64(time.Minute))))
	grows := start.Add(90*time.Second + time.Duration(random.Int64N(int64(time.Minute))))
	end := grows.Add(5 * time.Minute)
	wanted := g.Demand * float64(g.PerMinute) / float64(workers*(g.Old+g.New)) // by a worker in a minute
	every := time.Duration(float64(time.Minute) / wanted)
	processes := make([]*Process, g.Old+g.New)
	for i := range processes {
		p := &Process{Workers: workers, Every: every, CatchUp: g.CatchUp, Start: start}
		if g.Told != Untold {
			p.budget.processes = g.Old
		}
		switch {
		case i >= g.Old:
			p.Start = grows.Add(time.Duration(random.Int64N(int64(g.Within) + 1)))
		case g.Told == Leaving:
			p.Stop = grows.Add(g.Within + 10*time.Second)
		}
		processes[i] = p
	}
	s := &Service{Window: g.Window, PerMinute: g.PerMinute, BanAfter: 5}
	Run(s, random, processes, start, end)
	result := Grown{Rejected: s.Rejected, Bans: s.Bans}
	done, possible := 0, 0.0
	for i, p := range processes {
		done += p.Done
		if i >= g.Old {
			result.Worst = max(result.Worst, p.Rejected)
		}
	}
	for now := start; now.Before(end); now = now.Add(time.Second) {
		perSecond := 0.0
		for _, p := range processes {
			perSecond += p.perSecond(now)
		}
		possible += min(perSecond, float64(g.PerMinute)/60)
	}
	result.Share = float64(done) / possible
	return result
}

// perSecond returns how many calls p wants to make in a second at that time.
func (p *Process) perSecond(now time.Time) float64 {
	const meanTime = 110 * time.Millisecond // of a request
	cycle := max(p.Every, meanTime)
	switch {
	case now.Before(p.Start) || !p.Stop.IsZero() && !now.Before(p.Stop):
		return 0
	case !p.CatchUp:
		cycle = p.Every + meanTime
	}
	return float64(p.Workers) / cycle.Seconds()
}
