package ratelimit

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// Process is a process with a budget of its own. Its calls wait in a queue for this budget.
type Process struct {
	budget   budget
	Start    time.Time     // of its first calls
	Stop     time.Time     // no call begins from then on; zero stands for the end of the run
	Workers  int           // workers; each of them makes one call at a time
	Every    time.Duration // mean time from one call of a worker to its next; 0 is none
	CatchUp  bool          // a worker that is late makes up for its delay
	Done     int           // calls that succeeded
	Rejected int           // 429s

	queue []*worker
	wake  time.Time
}

// worker makes one call at a time.
type worker struct {
	next  time.Time // of its next call
	calls int
}

// run is a simulation of processes that use one key, in virtual time without goroutines.
type run struct {
	service *Service
	random  *rand.Rand
	now     time.Time
	events  []event // by their times; those of the same time in the order in which they were added
}

// event is something that happens at a time.
type event struct {
	at time.Time
	do func()
}

// at makes something happen at a time.
func (r *run) at(t time.Time, do func()) {
	t = later(r.now, t)
	place, _ := slices.BinarySearchFunc(r.events, t.Add(1), func(e event, t time.Time) int { return e.at.Compare(t) })
	r.events = slices.Insert(r.events, place, event{t, do})
}

// Run simulates processes that use the key of a service from start to end. Requests take 20 to 200
// ms, part of it before the service counts them.
func Run(s *Service, random *rand.Rand, processes []*Process, start, end time.Time) {
	r := &run{service: s, random: random, now: start}
	s.Clock = func() time.Time { return r.now }
	for _, p := range processes {
		for range p.Workers {
			first := p.Start.Add(time.Duration(random.Float64() * float64(p.Every)))
			p.schedule(r, &worker{next: first})
		}
	}
	for len(r.events) > 0 && !r.events[0].at.After(end) {
		e := r.events[0]
		r.events = r.events[1:]
		r.now = e.at
		e.do()
	}
}

// schedule sets the time of a worker's next call.
func (p *Process) schedule(r *run, w *worker) {
	if w.calls > 0 {
		if !p.CatchUp {
			w.next = later(w.next, r.now)
		}
		w.next = w.next.Add(time.Duration((0.5 + r.random.Float64()) * float64(p.Every)))
	}
	w.calls++
	if at := later(w.next, r.now); p.Stop.IsZero() || at.Before(p.Stop) {
		r.at(at, func() {
			p.queue = append(p.queue, w)
			p.dispatch(r)
		})
	}
}

// dispatch sends the requests that the budget admits.
func (p *Process) dispatch(r *run) {
	for len(p.queue) > 0 {
		slot, wait, ok := p.budget.admit(r.now, false)
		if !ok {
			if !wait.wake.IsZero() && !wait.wake.Equal(p.wake) {
				p.wake = wait.wake
				r.at(wait.wake, func() { p.dispatch(r) })
			}
			return
		}
		w := p.queue[0]
		p.queue = p.queue[1:]
		p.send(r, w, slot)
	}
}

// send sends a request.
func (p *Process) send(r *run, w *worker, slot slot) {
	sent := r.now
	took := 20*time.Millisecond + time.Duration(r.random.Int64N(int64(180*time.Millisecond)))
	out := time.Duration((0.1 + 0.8*r.random.Float64()) * float64(took))
	r.at(sent.Add(out), func() {
		o := r.service.Answer()
		r.at(sent.Add(took), func() {
			o.Sent, o.Received = sent, r.now
			p.budget.settle(slot, &o, r.now)
			if o.StatusCode == http.StatusTooManyRequests {
				p.Rejected++
				p.queue = slices.Insert(p.queue, 0, w) // a retried call keeps its place
			} else {
				p.Done++
				p.schedule(r, w)
			}
			p.dispatch(r)
		})
	})
}
