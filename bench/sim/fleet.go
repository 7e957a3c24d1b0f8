package sim

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// fleet is processes that start one after the other, as in a rolling update, and go on until five
// minutes after the last start. Each has eight goroutines that always want more than the key has.
type fleet struct {
	running bool
	apart   time.Duration // between two starts
}

const fleetTime = 5 * time.Minute

// fleets has two to sixteen processes on each plan.
func fleets(seed uint64) suite {
	s := suite{
		name: "fleet", contenders: herds(seed).contenders, ours: 2, figure: cell.fleetFigure, entry: fleetEntry,
		compared: func(c cell) bool { return c.condition.clients == 4 },
		heading:  "processes, windows",
		label: func(c cell) string {
			if c.window == fake.WindowSliding {
				return fmt.Sprint(c.condition.clients, ", sliding")
			}
			return fmt.Sprint(c.condition.clients, ", fixed or aligned")
		},
	}
	for _, n := range []int{2, 4, 8, 16} {
		for _, apart := range []time.Duration{0, 20 * time.Second, 60 * time.Second} {
			k := condition{name: fmt.Sprintf("fleet-%d-%s", n, apart), clients: n, unaware: true, banAfter: usualBan}
			for _, w := range []fake.Window{fake.WindowFixed, fake.WindowAligned, fake.WindowSliding} {
				for _, perMinute := range []int{60, 300, 1_000} {
					s.cells = append(s.cells, cell{
						condition: k, window: w, perMinute: perMinute, goroutines: 8 * n, seed: seed,
						fleet: fleet{true, apart},
					})
				}
			}
		}
	}
	return s
}

// lasts returns how long the fleet works.
func (c cell) lasts() time.Duration {
	return time.Duration(c.condition.clients-1)*c.fleet.apart + fleetTime - time.Second
}

// possible returns how many requests the service admits in that time, at most.
func (c cell) possible() int {
	windows := int((c.lasts() + time.Minute - 1) / time.Minute)
	if c.window == fake.WindowAligned {
		windows++ // it may begin within one
	}
	return c.perMinute * windows
}

// fleetFigure: told processes get no 429, and four that are not told at most two each.
func (c cell) fleetFigure(contender int) figure {
	n := c.condition.clients
	switch told := contender == 1; {
	case told && c.window != fake.WindowSliding:
		return figure{share: 0.8}
	case !told && n <= 4:
		return figure{perWindow: 2 * n, rejected: 2 * n, share: 0.8}
	}
	return figure{bans: math.MaxInt, perWindow: math.MaxInt, failed: math.MaxInt}
}

// doFleet starts the processes one after the other.
func (r *runner) doFleet(clients []client) {
	r.perClient = make([]int, len(clients))
	end := time.Now().Add(r.cell.lasts())
	for g := range r.cell.goroutines {
		n := g % len(clients)
		t := &trip{number: g, seed: r.cell.seed}
		r.group.Go(func() {
			_ = sleep(context.Background(), time.Duration(n)*r.cell.fleet.apart+t.offset())
			ctx, cancel := context.WithDeadline(context.WithValue(context.Background(), tripKey{}, t), end)
			defer cancel()
			for time.Now().Before(end) {
				if err := clients[n].list(ctx); err == nil {
					r.mu.Lock()
					r.done++
					r.perClient[n]++
					r.mu.Unlock()
				} else {
					_ = sleep(ctx, time.Second)
				}
			}
		})
	}
	r.group.Wait()
	r.share = float64(r.done) / float64(r.cell.possible())
}
