package petstoreredis

import (
	"context"
	"slices"
	"time"

	"github.com/petstore/petstore-go"
)

// waiter is a call that wants a permit.
type waiter struct {
	request  petstore.LimitRequest
	rank     time.Time // orders the calls
	deadline time.Time // of the context; zero without one
	entered  time.Time
	end      time.Time // of the longest wait
	limited  time.Time // when it first met a limit
	before   int       // calls before it in the queue

	queued  bool
	told    bool          // that it waits has been reported
	reason  petstore.Wait // to be reported
	permit  *permit
	refused *petstore.RateLimitError
	outage  *outage       // during which it goes on alone
	wake    chan struct{} // has a value when there may be something to do
}

func newWaiter(ctx context.Context, r petstore.LimitRequest) *waiter {
	now := time.Now()
	if r.Asked.IsZero() {
		r.Asked = now
	}
	r.MaxWait = min(r.MaxWait, never)
	w := &waiter{request: r, rank: r.Asked, entered: now, end: now.Add(r.MaxWait + freeWait), wake: make(chan struct{}, 1)}
	if r.Call.Background { // it goes after all that ask within the minute after it
		w.rank = r.Asked.Add(minute)
	}
	w.deadline, _ = ctx.Deadline()
	return w
}

// ready wakes w.
func (w *waiter) ready() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// sleep waits until w is woken, or its wait must end.
func (w *waiter) sleep(ctx context.Context) {
	timer := time.NewTimer(time.Until(w.end))
	defer timer.Stop()
	select {
	case <-w.wake:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// tooLate reports whether w must not wait until then.
func (w *waiter) tooLate(then time.Time) bool {
	return then.After(w.limited.Add(w.request.MaxWait)) || !w.deadline.IsZero() && then.After(w.deadline)
}

// free returns how long w waited for something else than a limit.
func (w *waiter) free() time.Duration {
	if w.limited.IsZero() {
		return time.Since(w.entered)
	}
	return w.limited.Sub(w.entered)
}

// queue is the calls of this process that wait for permits, by rank.
type queue []*waiter

// insert puts w in its place. Most calls ask last.
func (q *queue) insert(w *waiter) {
	i := len(*q)
	for i > 0 && (*q)[i-1].rank.After(w.rank) {
		i--
	}
	*q = slices.Insert(*q, i, w)
	w.queued, w.before = true, i
}

func (q *queue) remove(w *waiter) {
	if w.queued {
		i := slices.Index(*q, w)
		*q = slices.Delete(*q, i, i+1)
		w.queued = false
	}
}
