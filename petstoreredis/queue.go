package petstoreredis

import (
	"slices"
	"time"

	"github.com/petstore/petstore-go"
)

// waiter is a call that wants a permit.
type waiter struct {
	request  petstore.LimitRequest
	deadline time.Time // of the context; zero without one
	entered  time.Time
	limited  time.Duration // limit.total when it entered

	queued    bool
	tell      *petstore.Wait // to be reported, once
	told      bool
	reporting bool // while the user's functions run it gets no permit: they might wait for its response

	permit  *permit
	refused *petstore.RateLimitError
	alone   bool          // it has to ask the limiter for the time without Redis
	wake    chan struct{} // has a value when one of these has been set
}

// ready wakes w, whose wait is over or has to be reported.
func (w *waiter) ready() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// rank orders the calls: a background call goes after all that ask within the minute after it.
func (w *waiter) rank() time.Time {
	if w.request.Call.Background {
		return w.request.Asked.Add(minute)
	}
	return w.request.Asked
}

// queue is the calls of this process that wait for permits, by rank.
type queue []*waiter

// insert puts w in its place, and returns the number of calls before it. Most calls ask last.
func (q *queue) insert(w *waiter) int {
	i := len(*q)
	for i > 0 && (*q)[i-1].rank().After(w.rank()) {
		i--
	}
	*q = slices.Insert(*q, i, w)
	w.queued = true
	return i
}

func (q *queue) remove(w *waiter) {
	if w.queued {
		i := slices.Index(*q, w)
		*q = slices.Delete(*q, i, i+1)
		w.queued = false
	}
}

// first returns the call that goes next; nil if there is none.
func (q queue) first() *waiter {
	for _, w := range q {
		if !w.reporting {
			return w
		}
	}
	return nil
}
