package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/petstore/petstore-go"
)

// loadTime is how long a load lasts: five windows.
const loadTime = 5 * time.Minute

// loads is how calls come far from the limit: programs that use one key ask together for a fifth and
// a half of what it allows. No call has to wait for anything there, so that each wait is the
// limiter's own.
func loads(seed uint64) suite {
	const (
		steady = "one call at a time, at random"
		pages  = "ten calls at once"
		slow   = "one response in fifty takes 25 s more" // longer than anybody would wait
	)
	s := suite{name: "load", heading: "load", figure: cell.loadFigure, entry: loadEntry}
	for _, k := range []condition{
		{name: "steady", text: steady, batch: 1},
		{name: "pages", text: pages, batch: 10},
		{name: "short", text: "each two calls are a program of their own", batch: 2, short: true},
		{name: "no-wait", text: steady, batch: 1, noWait: true},
		{name: "no-wait-pages", text: pages, batch: 10, noWait: true},
		{name: "impatient", text: "one caller in five gives up", batch: 1, cancels: 0.2},
		{name: "slow", text: slow, batch: 1, slow: 0.02},
		{name: "slow-pages", text: pages + ", " + slow, batch: 10, slow: 0.02},
	} {
		k.slowBy, k.banAfter = 25*time.Second, 3
		for _, c := range grid(k, seed, (*run).doLoad) {
			for _, c.percent = range []int{20, 50} {
				for _, c.programs = range []int{1, 2, 8} {
					if k.short && c.programs == 8 || k.batch*c.programs > c.perMinute {
						continue // who starts them makes no difference; and together they may ask for too much
					}
					s.cells = append(s.cells, c)
				}
			}
		}
	}
	return s
}

// loadFigure is the largest latency that the limiter may add. A program whose first calls begin
// together waits for the first response once, and on 60 a minute a page of ten is a sixth of the
// window, which goes in two or three parts when others use the key or the window slides.
func (c cell) loadFigure(bool) figure {
	f := figure{p99: 150 * time.Millisecond, longest: 250 * time.Millisecond}
	calls := c.perMinute * c.percent / 100 * int(loadTime/time.Minute)
	switch cold := c.programs * (c.batch - 1); {
	case c.batch >= 10 && c.perMinute == 60:
		f.p50, f.p99, f.longest = 100*time.Millisecond, 400*time.Millisecond, 500*time.Millisecond
		if c.slow > 0 { // a cold start behind a slow response waits for a second of silence
			f.p99, f.longest = 1300*time.Millisecond, 1300*time.Millisecond
		}
	case !c.short && cold*100 > calls:
		f.p99 = f.longest
	}
	return f
}

// doLoad has programs start batches of calls at random, on average as often as their part of the
// load allows.
func (r *run) doLoad() {
	end := time.Now().Add(loadTime)
	perMinute := float64(r.perMinute*r.percent) / 100 / float64(r.programs*r.batch)
	every := float64(time.Minute) / perMinute
	r.perClient = make([]int, r.programs)
	for p := range r.programs {
		r.callers.Go(func() {
			rng := rand.New(rand.NewPCG(r.seed, math.MaxUint64-uint64(p))) // any bits will do
			shared := r.newProgram().newClient()
			for first := p * r.batch; ; first += r.programs * r.batch {
				pause(time.Duration((0.5 + rng.Float64()) * every))
				if time.Now().After(end) {
					return
				}
				client, goroutines, calls := shared, r.batch, 1
				if r.short {
					client, goroutines, calls = r.newProgram().newClient(), 1, r.batch
				}
				for i := range goroutines {
					r.callers.Go(func() { r.calls(client, p, first+i, calls) })
				}
			}
		})
	}
	r.callers.Wait()
}

// calls makes n calls one after the other. No two calls begin at one instant.
func (r *run) calls(client *petstore.Client, program, first, n int) {
	for i := range n {
		t := &trip{number: first + i, seed: r.seed}
		pause(t.offset())
		r.call(client, program, first+i, t)
	}
}
