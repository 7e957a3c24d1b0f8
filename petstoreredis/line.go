package petstoreredis

import (
	"container/list"
	"context"
	"fmt"
	"time"

	"github.com/petstore/petstore-go"
)

// waiter is a call in the queue.
type waiter struct {
	ticket   uint64
	deadline time.Time
	patient  bool // it may wait for the rate limit at all
	asked    int  // the command that asked for it last
	told     bool // that it has to wait
	blocked  bool // a window or a closed key was among what it waited for

	place   *list.Element // nil once one of the following is set
	permit  *permit
	refused *petstore.RateLimitError
	ready   chan struct{}
	why     chan petstore.Wait // what it is told
}

func newWaiter(ctx context.Context, now time.Time, maxWait time.Duration) *waiter {
	w := &waiter{deadline: now.Add(maxWait), patient: maxWait > 0}
	if d, ok := ctx.Deadline(); ok && d.Before(w.deadline) {
		w.deadline = d
	}
	return w
}

// late reports whether at is later than w can wait.
func (w *waiter) late(at time.Time) bool { return at.After(w.deadline) }

// tell has w say once what it waits for.
func (w *waiter) tell(why petstore.Wait) {
	w.blocked = w.blocked || why.Reason != petstore.WaitResponse
	if !w.told {
		w.told = true
		w.why <- why
	}
}

// line is the queue: the calls that wait, by ticket.
type line struct{ waiters list.List }

func (l *line) len() int { return l.waiters.Len() }

// ahead is who stands next behind a ticket, nil if nobody, and how many stand before it.
func (l *line) ahead(ticket uint64) (*list.Element, int) {
	next, ahead := (*list.Element)(nil), l.len()
	for e := l.waiters.Back(); e != nil && ticket < e.Value.(*waiter).ticket; e = e.Prev() {
		next, ahead = e, ahead-1
	}
	return next, ahead
}

func (l *line) enter(w *waiter) {
	w.ready, w.why = make(chan struct{}), make(chan petstore.Wait, 1)
	if next, _ := l.ahead(w.ticket); next != nil {
		w.place = l.waiters.InsertBefore(w, next)
		return
	}
	w.place = l.waiters.PushBack(w)
}

// leave takes w, which has got its permit or error, out of the queue.
func (l *line) leave(w *waiter) {
	l.waiters.Remove(w.place)
	w.place = nil
	close(w.ready)
}

// each calls f for the waiters in order; f may have them leave.
func (l *line) each(f func(w *waiter, ahead int)) {
	ahead := 0
	for e := l.waiters.Front(); e != nil; {
		w := e.Value.(*waiter)
		e = e.Next()
		if f(w, ahead); w.place != nil {
			ahead++
		}
	}
}

// endOf is the end of a caller's context as an error, nil if it has not ended.
func endOf(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		// The context's own timer may not have fired yet.
		if deadline, ok := ctx.Deadline(); !ok || time.Now().Before(deadline) {
			return nil
		}
		err = context.DeadlineExceeded
	}
	if cause := context.Cause(ctx); cause != nil && cause != err { //nolint:errorlint // the same one, not one like it
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
