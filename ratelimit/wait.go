package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// await waits until t is admitted or refused, and reports the wait. The lock must not be held. While
// an observer is told that the wait begins, t is not in the queue: the observer may make a request
// of its own, which would wait for the response to this one.
func (t *ticket) await(ctx context.Context, w Wait) {
	decided, done := false, false
	defer func() {
		if !done { // the observer has panicked: nobody will use the permit
			t.queue.limiter.mu.Lock()
			defer t.queue.limiter.mu.Unlock()
			t.leave(t.queue.clock())
		}
	}()
	if t.Observer != nil {
		defer func() { t.Observer.WaitDone(w); done = decided }()
		t.Observer.WaitStart(w)
	}
	for left := t.check(ctx, &w); left > 0; left = t.check(ctx, &w) {
		timer := time.NewTimer(nap(left))
		select {
		case <-t.ready:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	decided, done = true, t.Observer == nil
}

// check returns for how long t may sleep; 0 if its wait is over, which w then describes. Once
// NotBefore has passed, t joins the queue.
func (t *ticket) check(ctx context.Context, w *Wait) time.Duration {
	q := t.queue
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	now := q.clock()
	ended, early := contextError(ctx), t.NotBefore.Sub(now)
	if t.state == apart && ended == nil && early <= 0 {
		q.apart--
		if place := q.place(t); !t.isRefused(now, place, nil) {
			t.state = queued
			q.tickets = slices.Insert(q.tickets, place, t)
		}
	}
	q.dispatch(now) // a permit may become free at the moment at which the wait ends
	left := t.latest.Add(patience).Sub(now)
	switch waits := t.state <= queued; {
	case ended != nil || waits && left <= 0: // also if t was admitted at the same moment
		t.leave(now)
		limit, reason := q.budget.earliest(now, 0, t.Background)
		t.refuse(now, limit, reason, ended)
	case t.state == apart:
		return min(early, left)
	case waits:
		return left
	}
	w.Duration = now.Sub(t.entered)
	w.Window, w.Sent, w.Processes = q.budget.known(), q.budget.own, q.budget.processes
	return 0
}

// leave ends the wait of t, or gives back its permit. Then another request may take its place.
func (t *ticket) leave(now time.Time) {
	switch t.state {
	case apart:
		t.queue.apart--
	case queued:
		t.queue.remove(t)
	case admitted:
		t.budget.settle(t.slot, &Outcome{}, now)
	}
	t.state = over
	t.queue.dispatch(now)
}

// isRefused refuses t if its context has ended, or if a known limit or its NotBefore lasts longer than
// it can wait, with that many others before it. It reports whether it did. A wait for a response is
// no reason, because nobody knows how long it will take.
func (t *ticket) isRefused(now time.Time, before int, ended error) bool {
	limit, reason := t.queue.budget.earliest(now, before, t.Background)
	if at := later(limit, t.NotBefore); ended == nil && !at.After(later(now, t.latest)) {
		return false
	}
	t.refuse(now, limit, reason, ended)
	return true
}

// refuse refuses t because its context has ended or, if ended is nil, because its wait would be or
// was too long. If a limit is the reason, it is reported that the key is closed.
func (t *ticket) refuse(now, limit time.Time, reason Reason, ended error) {
	t.state = over
	t.refused = &Error{Window: t.queue.budget.known(), Reason: reason, Err: ended}
	switch {
	case reason != "":
		t.refused.RetryAt = later(limit, t.NotBefore)
		if ended == nil {
			t.closed = t.queue.close(now, t.queue.lockout(reason, limit))
		}
	case ended != nil:
		t.refused.Err = fmt.Errorf("before the request was sent: %w", ended)
	case t.NotBefore.After(now):
		t.refused.RetryAt = t.NotBefore
	}
}

// describe returns the wait that t begins.
func (t *ticket) describe(now time.Time) Wait {
	q := t.queue
	w := Wait{Reason: q.why.reason, Until: q.why.until, Waiting: len(q.tickets) + q.apart}
	switch b := q.budget; {
	case t.NotBefore.After(now) && !passed(now, b.until):
		w.Reason, w.Until = b.reason, later(b.until, t.NotBefore)
	case t.NotBefore.After(now):
		w.Reason, w.Until = ReasonBackoff, t.NotBefore
	case t.Background && w.Reason == ReasonMinute:
		w.Reason = ReasonBackground
	}
	return w
}

// contextError returns an error that matches the error and the cause of a context that has ended;
// nil if it has not ended.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
