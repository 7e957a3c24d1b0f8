package petstoreredis

import (
	"container/list"
	"context"
	"fmt"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/deadline"
)

// waiter is a call in the queue.
type waiter struct {
	ticket   uint64
	maxWait  time.Duration // for limits
	deadline time.Time     // of its context, zero if it has none
	entered  time.Time
	clock    time.Duration // of the queue, when it entered
	free     time.Duration // how long it waited for Redis and for responses, once it is done
	asked    int           // the number of the command that asked for it last

	place    *list.Element // nil once one of the following is set
	permit   *permit
	refused  *petstore.RateLimitError
	ready    chan struct{}      // closed when one is
	why      chan petstore.Wait // what it waits for
	reported bool               // whether that is
}

func newWaiter(ctx context.Context, now time.Time, ticket uint64, maxWait, clock time.Duration) *waiter {
	w := &waiter{ticket: ticket, maxWait: max(0, maxWait), entered: now, clock: clock}
	w.ready, w.why = make(chan struct{}), make(chan petstore.Wait, 1)
	w.deadline, _ = ctx.Deadline()
	return w
}

// spent returns how long w has waited for limits.
func (w *waiter) spent(clock time.Duration) time.Duration { return clock - w.clock }

// late reports whether w, which has spent some of its time, cannot wait until at.
func (w *waiter) late(now, at time.Time, spent time.Duration) bool {
	if !at.After(now) {
		return false
	}
	return at.Sub(now) > w.maxWait-spent || !w.deadline.IsZero() && at.After(w.deadline)
}

// report tells the caller of w, once, what it waits for.
func (w *waiter) report(why petstore.Wait) {
	if !w.reported {
		w.reported = true
		w.why <- why
	}
}

// queue holds the calls that wait, in the order of their tickets.
type queue struct {
	waiters list.List     // of *waiter
	limited time.Duration // how long the first has waited for a limit, and not for a response, in sum
	since   time.Time     // the same without interruption, zero while it does not
}

func (q *queue) len() int { return q.waiters.Len() }

// clock returns how long the first waiter, whoever it was, has waited for limits in sum.
func (q *queue) clock(now time.Time) time.Duration {
	if q.since.IsZero() {
		return q.limited
	}
	return q.limited + now.Sub(q.since)
}

// note starts or stops the clock: it runs while the first waiter waits for a limit.
func (q *queue) note(now time.Time, limited bool) {
	switch {
	case !limited:
		q.limited, q.since = q.clock(now), time.Time{}
	case q.since.IsZero():
		q.since = now
	}
}

// ahead returns the next waiter behind a ticket, nil if there is none, and how many wait before it.
func (q *queue) ahead(ticket uint64) (*list.Element, int) {
	next, ahead := (*list.Element)(nil), q.len()
	for e := q.waiters.Back(); e != nil && ticket < e.Value.(*waiter).ticket; e = e.Prev() {
		next, ahead = e, ahead-1
	}
	return next, ahead
}

func (q *queue) enter(w *waiter) {
	if next, _ := q.ahead(w.ticket); next != nil {
		w.place = q.waiters.InsertBefore(w, next)
		return
	}
	w.place = q.waiters.PushBack(w)
}

// leave takes w, which has got its permit or error, out of the queue.
func (q *queue) leave(w *waiter) {
	q.waiters.Remove(w.place)
	w.place = nil
	close(w.ready)
}

// each calls f for the waiters in order; f may make them leave.
func (q *queue) each(f func(w *waiter, ahead int)) {
	ahead := 0
	for e := q.waiters.Front(); e != nil; {
		w := e.Value.(*waiter)
		e = e.Next()
		if f(w, ahead); w.place != nil {
			ahead++
		}
	}
}

// endOf returns the end of a caller's context as an error, nil if it has not ended.
func endOf(ctx context.Context) error {
	err := deadline.Err(ctx)
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && cause != err { //nolint:errorlint // the same one, not one like it
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
