package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/petstore/petstore-go"
)

// bursts has 20 to 900 calls that one program wants all at once, for each window and history. They
// fit into the window, so that a client without a limiter needs one round trip for each call of a
// goroutine.
func bursts(seed uint64) suite {
	s := suite{name: "burst", heading: "before", figure: cell.burstFigure, entry: burstEntry}
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
		for _, k := range []condition{
			{text: "cold"},
			{text: "busy", before: 4, pause: 500 * time.Millisecond},
			{text: "restarted", before: 4, pause: 500 * time.Millisecond, restart: true},
			{text: "quiet", before: 2, pause: 10 * time.Second},
			{text: "idle", before: 2, pause: 150 * time.Second},
		} {
			k.name = fmt.Sprintf("burst-%d-%s-%s", b.calls, b.took, k.text)
			k.took, k.budget = b.took, b.budget
			for _, c := range grid(k, seed, (*run).doBurst) {
				if c.perMinute == b.perMinute {
					c.items, c.goroutines = b.calls, b.goroutines
					s.cells = append(s.cells, c)
				}
			}
		}
	}
	return s
}

// unlimited returns how long the burst takes without a limiter.
func (c cell) unlimited() time.Duration {
	return time.Duration((c.items+c.goroutines-1)/c.goroutines) * c.took
}

// burstFigure: a burst costs three round trips more than without a limiter, at most.
func (c cell) burstFigure(bool) figure {
	return figure{ratio: (c.unlimited() + 3*c.took + 100*time.Millisecond).Seconds() / c.unlimited().Seconds()}
}

// doBurst makes the burst after the calls of its history.
func (r *run) doBurst() {
	client := r.newProgram().newClient()
	for range r.before {
		_ = r.list(context.Background(), client)
		pause(r.pause)
	}
	if r.restart {
		client = r.newProgram().newClient()
	}
	begin := time.Now()
	r.shareItems([]*petstore.Client{client})
	r.ratio = time.Since(begin).Seconds() / r.unlimited().Seconds()
}
