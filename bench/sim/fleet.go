package sim

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// fleetTime is how long a fleet works after its last start.
const fleetTime = 5 * time.Minute

// fleets has two to sixteen processes that start one after the other, as in a rolling update. Each
// has eight goroutines that always want more than the key has.
func fleets(seed uint64) suite {
	s := suite{
		name: "fleet", heading: "processes, windows", toldToo: true,
		figure: cell.fleetFigure, entry: fleetEntry,
	}
	for _, n := range []int{2, 4, 8, 16} {
		for _, apart := range []time.Duration{0, 20 * time.Second, 60 * time.Second} {
			k := condition{
				name: fmt.Sprintf("fleet-%d-%s", n, apart), clients: n, unaware: true, apart: apart,
			}
			for _, c := range grid(k, seed, (*run).doFleet) {
				c.text = fmt.Sprintf("%d, fixed or aligned", n)
				if c.window == fake.WindowSliding {
					c.text = fmt.Sprintf("%d, sliding", n)
				}
				c.goroutines = 8 * n
				s.cells = append(s.cells, c)
			}
		}
	}
	return s
}

// fleetFigure: told processes get no 429, and four that are not told at most two each.
func (c cell) fleetFigure(told bool) figure {
	switch {
	case told && c.window != fake.WindowSliding:
		return figure{share: 0.8}
	case !told && c.clients <= 4:
		return figure{perWindow: 2 * c.clients, rejected: 2 * c.clients, share: 0.8}
	}
	return figure{bans: math.MaxInt, perWindow: math.MaxInt, failed: math.MaxInt}
}

// doFleet has the processes work to the end, and compares what they did with what the service admits
// in that time at most.
func (r *run) doFleet() {
	lasts := time.Duration(r.clients-1)*r.apart + fleetTime - time.Second
	end := r.start.Add(lasts)
	r.eachCaller(r.newClients(), func(client *petstore.Client, n int, t *trip) {
		ctx, cancel := context.WithDeadline(t.context(), end)
		defer cancel()
		for time.Now().Before(end) {
			if err := r.list(ctx, client); err != nil {
				_ = sleep(ctx, time.Second)
				continue
			}
			r.mu.Lock()
			r.perClient[n]++
			r.mu.Unlock()
		}
	})
	windows := int((lasts + time.Minute - 1) / time.Minute)
	if r.window == fake.WindowAligned {
		windows++ // it may begin within one
	}
	r.possible = r.perMinute * windows
}
