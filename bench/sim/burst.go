package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// burst is calls that one program wants all at once, and which fit into the window, so that a
// client without a limiter needs one round trip for each call of a goroutine.
type burst struct {
	calls  int
	took   time.Duration // of each request
	budget time.Duration // of each call; 0 is none
	before history
}

// history is what the program did before the burst: single calls with a pause after each.
type history struct {
	name    string
	calls   int
	pause   time.Duration
	restart bool // the burst is made by a new process
}

func histories() []history {
	return []history{
		{name: "cold"},
		{name: "busy", calls: 4, pause: 500 * time.Millisecond},
		{name: "restarted", calls: 4, pause: 500 * time.Millisecond, restart: true},
		{name: "quiet", calls: 2, pause: 10 * time.Second},
		{name: "idle", calls: 2, pause: 150 * time.Second},
	}
}

// bursts has those of 20 to 900 calls, for each window, plan and history.
func bursts(seed uint64) suite {
	s := suite{
		name: "burst", contenders: contenders(), ours: 1, figure: cell.burstFigure, compared: always,
		heading: "before", entry: burstEntry, label: func(c cell) string { return c.burst.before.name },
	}
	for _, b := range []struct {
		perMinute, calls, goroutines int
		took, budget                 time.Duration
	}{
		{300, 200, 200, 400 * time.Millisecond, 2 * time.Second},
		{60, 40, 40, 400 * time.Millisecond, 2 * time.Second},
		{60, 55, 55, 100 * time.Millisecond, 0},
		{60, 48, 16, 300 * time.Millisecond, 0},
		{1_000, 900, 512, 300 * time.Millisecond, 0},
		{60, 20, 20, 100 * time.Millisecond, 2 * time.Second},
		{60, 50, 8, 900 * time.Millisecond, 0},
		{300, 250, 64, 200 * time.Millisecond, 0},
		{300, 290, 290, 900 * time.Millisecond, 5 * time.Second},
		{1_000, 100, 100, 100 * time.Millisecond, time.Second},
		{1_000, 900, 900, 900 * time.Millisecond, 5 * time.Second},
		{1_000, 800, 64, 100 * time.Millisecond, 0},
	} {
		for _, h := range histories() {
			k := condition{name: fmt.Sprintf("burst-%d-%s-%s", b.calls, b.took, h.name)}
			for _, w := range []fake.Window{fake.WindowFixed, fake.WindowAligned, fake.WindowSliding} {
				s.cells = append(s.cells, cell{
					condition: k, window: w, perMinute: b.perMinute, goroutines: b.goroutines, seed: seed,
					burst: burst{b.calls, b.took, b.budget, h},
				})
			}
		}
	}
	return s
}

// unlimited returns how long the burst takes without a limiter.
func (c cell) unlimited() time.Duration {
	return time.Duration((c.burst.calls+c.goroutines-1)/c.goroutines) * c.burst.took
}

// burstFigure: a burst costs three round trips more than without a limiter, at most.
func (c cell) burstFigure(int) figure {
	return figure{ratio: (c.unlimited() + 3*c.burst.took + 100*time.Millisecond).Seconds() / c.unlimited().Seconds()}
}

// doBurst makes the burst after the calls of its history, and returns when it began.
func (r *runner) doBurst(newClients func(n int) []client) time.Time {
	only := newClients(1)
	b := r.cell.burst
	for i := range b.before.calls {
		_, _ = i, only[0].list(context.Background())
		_ = sleep(context.Background(), b.before.pause)
	}
	if b.before.restart {
		only = newClients(2)[1:]
	}
	begin := time.Now()
	r.doJob(only)
	return begin
}
