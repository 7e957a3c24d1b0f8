package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// refusal is why a request gets no permit.
type refusal struct {
	err    *Error
	closed *Lockout // to be reported; nil if it was, or if no limit is the reason
}

// late returns a refusal if w cannot be admitted in time when that many others go before it.
func (q *queue) late(now time.Time, w *waiter, before int) *refusal {
	at := later(q.earliest(now, before, w.class == background), w.notBefore)
	switch left := w.maxWait - (q.clock(now) - w.clock); {
	case !at.After(now): // as far as known, w need not wait for a limit
	case at.Sub(now) > left, !w.deadline.IsZero() && at.After(w.deadline):
		return q.refuse(now, at)
	}
	return nil
}

// refuseLate refuses the waiters that cannot be served in time.
func (q *queue) refuseLate(now time.Time) {
	before := 0
	for class := range q.lines {
		q.lines[class] = slices.DeleteFunc(q.lines[class], func(w *waiter) bool {
			refused := q.refuseIfLate(now, w, before)
			if !refused {
				before++
			}
			return refused
		})
	}
}

// refuseIfLate refuses w if it cannot be served in time when that many others go before it, and
// reports whether it did. The caller removes w from its line.
func (q *queue) refuseIfLate(now time.Time, w *waiter, before int) bool {
	if w.joined {
		w.refused = q.late(now, w, before)
	}
	if w.refused == nil {
		return false
	}
	q.joined[w.class]--
	close(w.ready)
	return true
}

// refuse refuses a request that cannot be admitted before at, and records that the key is closed.
func (q *queue) refuse(now, at time.Time) *refusal {
	b := &q.budget
	scope := q.scopeAt(now, at)
	left := -1
	if passed(now, b.lockout.until) {
		left = q.left()
	}
	r := &refusal{err: &Error{RetryAt: at, Window: b.known(), Scope: scope}}
	if scope != "" {
		r.closed = b.close(b.lockoutOf(scope, at), left)
	}
	return r
}

// ended refuses a request whose context has ended.
func (q *queue) ended(ctx context.Context, now time.Time, during string) *refusal {
	at := q.earliest(now, 0, false)
	e := &Error{RetryAt: at, Window: q.budget.known(), Scope: q.scopeAt(now, at), Err: causeOf(ctx, now)}
	if e.Scope == "" {
		e.RetryAt = time.Time{} // a response decides
		e.Err = fmt.Errorf("%s: %w", during, e.Err)
	}
	return &refusal{err: e}
}

// contextErr returns ctx.Err(), or context.DeadlineExceeded once the deadline has passed: a
// connection may report the deadline a moment before the context's own timer fires.
func contextErr(ctx context.Context, now time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !now.Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// causeOf returns an error that matches that of a context that has ended, and its cause.
func causeOf(ctx context.Context, now time.Time) error {
	err, cause := contextErr(ctx, now), context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
