package petstoreredis

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/petstore/petstore-go"
)

// waiter is a call that wants a permit.
type waiter struct {
	request  petstore.LimitRequest
	deadline time.Time // of the context; zero without one
	number   int       // of the call
	entered  time.Time
	limited  time.Time // when it first met a limit
	before   int       // calls before it in the queue

	queued  bool
	told    bool          // that it waits has been reported
	reason  petstore.Wait // to be reported
	left    time.Duration // longest wait
	permit  *permit
	refused *petstore.RateLimitError
	outage  *outage       // during which it goes on alone
	wake    chan struct{} // has a value when there may be something to do
}

func newWaiter(ctx context.Context, r petstore.LimitRequest) *waiter {
	w := &waiter{request: r, entered: time.Now(), wake: make(chan struct{}, 1)}
	w.deadline, _ = ctx.Deadline()
	w.request.MaxWait = min(r.MaxWait, never)
	if r.Asked.IsZero() {
		w.request.Asked = w.entered
	}
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
	timer := time.NewTimer(w.left)
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

// rank orders the calls: a background call goes after all that ask within the minute after it.
func (w *waiter) rank() time.Time {
	if w.request.Call.Background {
		return w.request.Asked.Add(minute)
	}
	return w.request.Asked
}

// queue is the calls of this process that wait for permits, by rank.
type queue []*waiter

// insert puts w in its place. Most calls ask last.
func (q *queue) insert(w *waiter) {
	i := len(*q)
	for i > 0 && cmp.Or((*q)[i-1].rank().Compare(w.rank()), (*q)[i-1].number-w.number) > 0 {
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
