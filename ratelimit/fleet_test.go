package ratelimit

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// process is a process with a budget of its own. Its calls wait in a queue for this budget.
type process struct {
	budget   budget
	start    time.Time       // when its workers begin
	stop     time.Time       // no call begins from then on; zero: the end of the run
	workers  int             // number of workers; each makes one call at a time, or batch calls
	batch    int             // calls that a worker makes together; 0: one
	every    time.Duration   // mean time from one call of a worker to its next; 0: no pause
	calls    int             // number of calls that it makes in all; 0: no limit
	catchUp  bool            // a worker that is late makes up for its delay
	fails    bool            // some requests are not sent, or get no response, or no headers
	slow     float64         // share of its responses that come 25 s late
	done     int             // calls that succeeded
	finished time.Time       // when the last call succeeded
	rejected int             // 429s
	waits    []time.Duration // how long each call waited for a permit

	queue []*worker
	begun int // calls that have begun
	askAt time.Time
}

// worker makes one call at a time, or a batch of them.
type worker struct {
	next   time.Time // time of its next calls
	queued time.Time // when its calls began to wait for the budget
	calls  int
	open   int // calls that have not succeeded yet
}

// run is a simulation of processes that use one key, in virtual time without goroutines.
type run struct {
	service *service
	random  *rand.Rand
	now     time.Time
	events  []event // in the order of their times; at the same time, as they were added
}

type event struct {
	at time.Time
	do func()
}

// at calls do at time t, or now if t has passed.
func (r *run) at(t time.Time, do func()) {
	t = later(r.now, t)
	place, _ := slices.BinarySearchFunc(r.events, t.Add(1), func(e event, t time.Time) int { return e.at.Compare(t) })
	r.events = slices.Insert(r.events, place, event{t, do})
}

// simulate runs processes that use one key, from the time start to the time end. A request takes 20 to
// 200 ms. It reaches the service after 10 to 90 % of that time.
func simulate(s *service, random *rand.Rand, processes []*process, start, end time.Time) {
	r := &run{service: s, random: random, now: start}
	for _, p := range processes {
		for range p.workers {
			first := p.start.Add(time.Duration(random.Float64() * float64(p.every)))
			p.schedule(r, &worker{next: first})
		}
	}
	for len(r.events) > 0 && !r.events[0].at.After(end) {
		e := r.events[0]
		r.events, r.now = r.events[1:], e.at
		e.do()
	}
}

func (p *process) schedule(r *run, w *worker) {
	if w.calls > 0 {
		if !p.catchUp {
			w.next = later(w.next, r.now)
		}
		w.next = w.next.Add(time.Duration((0.5 + r.random.Float64()) * float64(p.every)))
	}
	w.calls++
	p.begun++
	at := later(w.next, r.now)
	if !p.stop.IsZero() && !at.Before(p.stop) || p.calls > 0 && p.begun > p.calls {
		return
	}
	r.at(at, func() {
		w.queued, w.open = r.now, max(1, p.batch)
		p.queue = append(p.queue, slices.Repeat([]*worker{w}, w.open)...)
		p.dispatch(r)
	})
}

func (p *process) dispatch(r *run) {
	for len(p.queue) > 0 {
		admitted, wait := p.budget.admit(r.now, false)
		if wait.reason != "" {
			if !wait.askAt.IsZero() && !wait.askAt.Equal(p.askAt) {
				p.askAt = wait.askAt
				r.at(wait.askAt, func() { p.dispatch(r) })
			}
			return
		}
		w := p.queue[0]
		p.queue = p.queue[1:]
		p.waits = append(p.waits, r.now.Sub(w.queued))
		p.send(r, w, &admitted)
	}
}

func (p *process) send(r *run, w *worker, s *snapshot) {
	sent := r.now
	took := 20*time.Millisecond + time.Duration(r.random.Int64N(int64(180*time.Millisecond)))
	out := time.Duration((0.1 + 0.8*r.random.Float64()) * float64(took))
	if p.slow > 0 && r.random.Float64() < p.slow {
		took += 25 * time.Second
	}
	r.at(sent.Add(out), func() {
		fate := 0
		if p.fails {
			fate = r.random.IntN(60)
		}
		var o Outcome
		if fate != 1 { // a fate of 1: the request is not sent
			o = r.service.answer(r.now)
			o.Sent, o.Received = sent, sent.Add(took)
		}
		if fate == 2 {
			o.Received = time.Time{}
		} else if fate == 3 && o.StatusCode == http.StatusOK {
			o = Outcome{Sent: o.Sent, Received: o.Received, StatusCode: http.StatusBadGateway}
		}
		r.at(sent.Add(took), func() { p.receive(r, w, s, &o) })
	})
}

func (p *process) receive(r *run, w *worker, s *snapshot, o *Outcome) {
	p.budget.settle(s, o, r.now)
	responded := !o.Received.IsZero()
	rejected := responded && o.StatusCode == http.StatusTooManyRequests
	if o.Sent.IsZero() || rejected {
		p.queue = slices.Insert(p.queue, 0, w) // a retried call keeps its place
	} else if w.open--; w.open == 0 {
		p.schedule(r, w)
	}
	if rejected {
		p.rejected++
	} else if responded {
		p.done, p.finished = p.done+1, r.now
	}
	p.dispatch(r)
}
