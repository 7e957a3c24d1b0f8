package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// waiter is a request that did not get its permit immediately. First it reports its wait and waits
// until NotBefore; then it joins the waiters of its queue. Its wait ends when it has a permit or a
// refusal (ready), when its context ends, or when it has waited for limits for MaxWait.
type waiter struct {
	Request
	queue    *queue
	number   uint64    // orders those that asked at the same time
	deadline time.Time // of the context; zero if it has none
	entered  time.Time
	clock    time.Duration // queue.clock when it entered, without its wait for NotBefore
	wait     Wait          // to be reported

	quiet  bool // it need not report its wait before the pot has replied
	joined bool // it is one of the waiters that can get a permit
	over   bool // nothing is left to wait for

	permit  *permit
	refused *Error
	closed  *Lockout      // to be reported with refused; nil for nothing
	ready   chan struct{} // closed when permit or refused is set; gets a value when quiet ends
}

// newWaiter returns a waiter for r. It is refused if the context has ended, or if it cannot be
// admitted in time. While it reports its wait it gets no permit: the user's functions may make a
// request that would wait for the response to this one.
func (q *queue) newWaiter(ctx context.Context, now time.Time, r *Request) *waiter {
	q.arrived++
	w := &waiter{
		Request: *r, queue: q, number: q.arrived, entered: now, clock: q.clock(now),
		ready: make(chan struct{}, 1),
	}
	w.MaxWait = max(0, w.MaxWait)
	if w.Asked.IsZero() {
		w.Asked = now
	}
	w.deadline, _ = ctx.Deadline()
	if ended := contextError(ctx, now); ended != nil {
		q.refuse(w, now, q.earliest(now, 0, w.Background), ended)
	} else if !q.refuseLate(now, w, q.place(w)) {
		q.waiting++
		w.quiet = q.mustAsk() && !r.NotBefore.After(now)
		w.describe(now)
	}
	return w
}

// compare compares the places of two waiters.
func (w *waiter) compare(other *waiter) int {
	if w.Background != other.Background {
		if w.Background {
			return 1
		}
		return -1
	}
	return cmp.Or(w.Asked.Compare(other.Asked), cmp.Compare(w.number, other.number))
}

// describe sets what w will report.
func (w *waiter) describe(now time.Time) {
	q := w.queue
	w.wait.Reason, w.wait.Until, w.wait.Waiting = q.why.reason, q.why.until, q.waiting
	if w.Background && w.wait.Reason == Reason(ScopeMinute) {
		w.wait.Reason = ReasonBackground
	}
	if w.NotBefore.After(now) {
		w.wait.Reason, w.wait.Until = ReasonBackoff, w.NotBefore
		if l := q.budget.closedNow(now); !l.Until.IsZero() {
			w.wait.Reason, w.wait.Until = Reason(l.Scope), later(l.Until, w.NotBefore)
		}
	}
}

// await has w report its wait, and returns when that is over. The lock must not be held.
func (w *waiter) await(ctx context.Context) {
	started, finished := false, false
	defer func() {
		if !finished { // a function of the user has panicked
			w.abandon()
		}
	}()
	defer func() {
		if started && w.Observer != nil {
			w.Observer.WaitDone(w.wait)
		}
		finished = w.over
	}()
	for report := !w.quiet; ; {
		if report {
			started = true
			if w.Observer != nil {
				w.Observer.WaitStart(w.wait)
			}
		}
		left := w.check(ctx)
		if w.over {
			return
		}
		report = w.sleep(ctx, left)
	}
}

// check finds out whether the wait of w is over, and else returns for how long w may sleep. From
// NotBefore on, w is one of the waiters.
func (w *waiter) check(ctx context.Context) (left time.Duration) {
	q := w.queue
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	now := q.limiter.now()
	ended := contextError(ctx, now)
	switch early := w.NotBefore.Sub(now); {
	case ended != nil || w.joined || w.refused != nil:
	case early > 0:
		return early
	default:
		w.join(now)
	}
	q.dispatch(now) // the wait may be over at the same time as MaxWait
	w.wait.Duration, w.wait.Limited = now.Sub(w.entered), q.clock(now)-w.clock
	w.wait.Window, w.wait.Sent, w.wait.Processes = q.budget.known(), q.budget.own, q.budget.processes
	limited, decided := w.wait.Limited, w.permit != nil || w.refused != nil
	free := limited < w.MaxWait || limited == 0 || q.since.IsZero() // for a response, it is
	switch {
	case ended == nil && !decided && free:
		return w.MaxWait - limited
	case ended != nil || !decided: // also if the permit came when the context ended
		w.withdraw(now)
		q.refuse(w, now, q.earliest(now, 0, w.Background), ended)
	}
	w.over = true
	q.waiting--
	return 0
}

// join makes w one of the waiters, unless it cannot be admitted in time. All of the time until
// NotBefore counts as waited for limits.
func (w *waiter) join(now time.Time) {
	q := w.queue
	if w.NotBefore.After(w.entered) {
		w.clock = q.clock(now) - now.Sub(w.entered)
	}
	place := q.place(w)
	if q.refuseLate(now, w, place) {
		return
	}
	w.joined = true
	if w.quiet {
		q.pot.quiet = append(q.pot.quiet, w)
	}
	q.waiters = slices.Insert(q.waiters, place, w)
	// If w was put before others, it may have made the last of them late.
	if last := len(q.waiters) - 1; last > place && q.refuseLate(now, q.waiters[last], last) {
		q.leave(q.waiters[last])
	}
}

// sleep waits for the first event that may end the wait of w, and reports whether w must report
// its wait.
func (w *waiter) sleep(ctx context.Context, left time.Duration) (report bool) {
	var timeout <-chan time.Time
	if left > 0 { // else w is refused as soon as a limit is the reason
		timer := time.NewTimer(nap(left))
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case _, report = <-w.ready:
	case <-timeout:
	case <-ctx.Done():
	}
	return report
}

// abandon ends a wait in which a function of the user has panicked: nobody will use the permit.
func (w *waiter) abandon() {
	q := w.queue
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	if !w.over {
		q.waiting--
	}
	w.withdraw(q.limiter.now())
}

// withdraw gives back the permit that w may have got, or removes w from the waiters.
func (w *waiter) withdraw(now time.Time) {
	switch {
	case w.permit != nil:
		w.permit.settle(&Outcome{}, now)
		w.permit = nil
	case w.refused == nil && w.joined:
		w.queue.leave(w)
	}
	w.queue.dispatch(now)
}

// refuseLate reports whether w cannot be admitted in time when that many others go before it, and
// refuses it then. The wait for a response is never too long: nobody knows its length.
func (q *queue) refuseLate(now time.Time, w *waiter, before int) bool {
	limit := q.earliest(now, before, w.Background)
	at, left := later(limit, w.NotBefore), w.MaxWait-(q.clock(now)-w.clock)
	if !at.After(now) || at.Sub(now) <= left && (w.deadline.IsZero() || !at.After(w.deadline)) {
		return false
	}
	q.refuse(w, now, limit, nil)
	return true
}

// refuse refuses a waiter that no limit allows before a time, or whose context has ended. A limit
// that is the reason closes the key.
func (q *queue) refuse(w *waiter, now, limit time.Time, ended error) {
	e := &Error{RetryAt: later(limit, w.NotBefore), Window: q.budget.known(), Err: ended}
	e.Scope, w.refused = q.budget.scopeAt(now, limit), e
	switch {
	case ended != nil && e.Scope == "":
		e.RetryAt = time.Time{} // a response decides
		e.Err = fmt.Errorf("before the request was sent: %w", ended)
	case ended == nil && e.Scope != "":
		w.closed = q.budget.close(q.budget.lockoutOf(e.Scope, limit))
	}
}

// contextError returns an error that matches that of a context that has ended, and its cause; nil
// if it has not ended. Its deadline may pass a moment before its own timer fires.
func contextError(ctx context.Context, now time.Time) error {
	err := ctx.Err()
	if deadline, ok := ctx.Deadline(); err == nil && ok && !now.Before(deadline) {
		err = context.DeadlineExceeded
	}
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
