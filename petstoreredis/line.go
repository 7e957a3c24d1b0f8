package petstoreredis

import (
	"container/list"
	"context"
	"fmt"
	"time"

	"github.com/petstore/petstore-go"
)

// waiter is a call in the line.
type waiter struct {
	turn     turn
	deadline time.Time
	patient  bool // it may wait for the rate limit at all
	asked    int  // the command that asked for it last

	place   *list.Element // nil once one of the following is set
	permit  *permit
	refused *petstore.RateLimitError
	moved   bool // Redis is away: the call has to ask the fallback
	ready   chan struct{}
}

// turn is a place in the order of all calls. A call that comes again, after a 429 or a failure, goes before those that
// come for the first time.
type turn struct {
	first  bool
	number uint64
}

func (t turn) before(u turn) bool {
	if t.first != u.first {
		return !t.first
	}
	return t.number < u.number
}

// isFirst reports whether the context is that of a call that has not sent anything yet.
func isFirst(ctx context.Context) bool {
	call, ok := petstore.CallFromContext(ctx)
	return !ok || call.Attempt == 0
}

func newWaiter(ctx context.Context, t turn, now time.Time, maxWait time.Duration) *waiter {
	w := &waiter{turn: t, deadline: now.Add(maxWait), patient: maxWait > 0}
	if d, ok := ctx.Deadline(); ok && d.Before(w.deadline) {
		w.deadline = d
	}
	return w
}

// late reports whether at is later than w can wait.
func (w *waiter) late(at time.Time) bool { return at.After(w.deadline) }

// line is the calls that wait, by turn.
type line struct{ waiters list.List }

func (l *line) len() int { return l.waiters.Len() }

// ahead is who stands next behind a turn, nil if nobody, and how many stand before it.
func (l *line) ahead(t turn) (*list.Element, int) {
	next, ahead := (*list.Element)(nil), l.len()
	for e := l.waiters.Back(); e != nil && t.before(e.Value.(*waiter).turn); e = e.Prev() {
		next, ahead = e, ahead-1
	}
	return next, ahead
}

func (l *line) enter(w *waiter) {
	w.ready = make(chan struct{})
	if next, _ := l.ahead(w.turn); next != nil {
		w.place = l.waiters.InsertBefore(w, next)
		return
	}
	w.place = l.waiters.PushBack(w)
}

// leave takes w, which has got its answer, out of the line.
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
