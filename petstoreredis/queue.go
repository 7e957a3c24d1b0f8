package petstoreredis

import (
	"slices"
	"time"

	"github.com/petstore/petstore-go"
)

// queue is the calls of this process that wait for permits: the first that asked goes first, and
// background calls go after all others.
type queue struct {
	front, behind []*waiter // ordered by asked
}

// waiter is a call in the queue.
type waiter struct {
	request  petstore.LimitRequest
	deadline time.Time // of the context; zero without one
	entered  time.Time
	limited  time.Duration // Limiter.limited when it entered
	promoted bool          // a background call that has waited for a minute
	queued   bool

	tell      *petstore.Wait // to be reported, once
	told      bool
	reporting bool // while the user's functions run it gets no permit: they might wait for its response

	permit  *permit
	refused *petstore.RateLimitError
	alone   bool          // it has to ask the limiter for the time without Redis
	wake    chan struct{} // has a value when one of these has been set
}

func (w *waiter) background() bool { return w.request.Call.Background && !w.promoted }

func (q *queue) list(w *waiter) *[]*waiter {
	if w.background() {
		return &q.behind
	}
	return &q.front
}

func (q *queue) len() int { return len(q.front) + len(q.behind) }

// insert puts w behind the calls that asked before. Most calls ask last.
func (q *queue) insert(w *waiter) {
	list := q.list(w)
	i := len(*list)
	for i > 0 && (*list)[i-1].request.Asked.After(w.request.Asked) {
		i--
	}
	*list = slices.Insert(*list, i, w)
	w.queued = true
}

func (q *queue) remove(w *waiter) {
	if !w.queued {
		return
	}
	list := q.list(w)
	i := slices.Index(*list, w)
	*list = slices.Delete(*list, i, i+1)
	w.queued = false
}

// first returns the call that goes next; nil if there is none.
func (q *queue) first() *waiter {
	for _, list := range [][]*waiter{q.front, q.behind} {
		for _, w := range list {
			if !w.reporting {
				return w
			}
		}
	}
	return nil
}

// promote lets the first background call that has waited for a minute queue with the others, one at
// a time.
func (q *queue) promote(now time.Time) {
	if len(q.behind) == 0 || len(q.front) == 0 || now.Sub(q.behind[0].entered) < minute ||
		slices.ContainsFunc(q.front, func(w *waiter) bool { return w.promoted }) {
		return
	}
	w := q.behind[0]
	q.remove(w)
	w.promoted = true
	q.insert(w)
}

// each calls f for each call in order, with the number of calls before it. f may end its wait.
func (q *queue) each(f func(w *waiter, before int)) {
	for i, w := range slices.Concat(q.front, q.behind) {
		f(w, i)
	}
}

// ready wakes w, whose wait is over or has to be reported.
func (w *waiter) ready() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
