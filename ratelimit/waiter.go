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
	queue *queue
	// number orders the waiters that asked at the same time.
	number uint64
	// deadline is that of the context; zero if it has none.
	deadline time.Time
	entered  time.Time
	// clock is where queue.clock stood when the wait began to count. The wait that counts against
	// MaxWait is queue.clock minus clock; see join.
	clock time.Duration
	// wait is what is reported to the observer.
	wait Wait

	// While quiet is set, the wait is not reported: the pot has not replied yet, and may have a
	// permit.
	quiet bool
	// joined reports whether it is one of the waiters that can get a permit.
	joined bool
	// over reports whether nothing is left to wait for.
	over bool

	permit  *permit
	refused *Error
	// closed is a lockout to be reported together with refused; nil if there is nothing to report.
	closed *Lockout
	// ready is closed when permit or refused is set. It gets a value when quiet ends.
	ready chan struct{}
}

// newWaiter returns a waiter for r. It is refused if the context has ended, or if it cannot be
// admitted in time. While the user's functions are told of the wait, it gets no permit: such a
// function may make a request of its own, which would wait for the response to this one.
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

// compare compares the places of two waiters. Background requests come after all others. Otherwise
// the request that asked first comes first.
func (w *waiter) compare(other *waiter) int {
	if w.Background != other.Background {
		if w.Background {
			return 1
		}
		return -1
	}
	return cmp.Or(w.Asked.Compare(other.Asked), cmp.Compare(w.number, other.number))
}

// describe sets what w will report. It is called under the lock, and what it sets is reported
// without it.
func (w *waiter) describe(now time.Time) {
	q := w.queue
	w.wait.Reason, w.wait.Until, w.wait.Waiting = q.why.reason, q.why.until, q.waiting
	if w.Background && w.wait.Reason == ReasonMinute {
		w.wait.Reason = ReasonBackground
	}
	if w.NotBefore.After(now) {
		w.wait.Reason, w.wait.Until = ReasonBackoff, w.NotBefore
		if l := q.budget.closedNow(now); !l.Until.IsZero() {
			w.wait.Reason, w.wait.Until = l.Reason, later(l.Until, w.NotBefore)
		}
	}
}

// await reports the wait of w, and returns when it is over. The lock must not be held.
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

// check finds out whether the wait of w is over; if not, it returns for how long w may sleep. Once
// NotBefore has passed, it makes w one of the waiters.
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
	q.dispatch(now) // a permit may become free at the moment at which MaxWait ends
	w.wait.Duration = now.Sub(w.entered)
	w.wait.Window, w.wait.Sent, w.wait.Processes = q.budget.known(), q.budget.own, q.budget.processes
	limited, decided := q.clock(now)-w.clock, w.permit != nil || w.refused != nil
	// A wait for a response does not count, and q.since is zero during it.
	free := limited < w.MaxWait || limited == 0 || q.since.IsZero()
	switch {
	case ended == nil && !decided && free:
		return w.MaxWait - limited
	case ended != nil || !decided: // also if a permit came at the same moment
		w.withdraw(now)
		q.refuse(w, now, q.earliest(now, 0, w.Background), ended)
	}
	w.over = true
	q.waiting--
	return 0
}

// join makes w one of the waiters, unless it cannot be admitted in time. The whole time until
// NotBefore counts as a wait for limits.
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
	// If w was put before others, the last of them may now come too late.
	if last := len(q.waiters) - 1; last > place && q.refuseLate(now, q.waiters[last], last) {
		q.leave(q.waiters[last])
	}
}

// sleep waits for the first event that may end the wait of w, and reports whether w must report its
// wait. It naps, so that the end of a long wait is not missed while the machine is suspended.
func (w *waiter) sleep(ctx context.Context, left time.Duration) (report bool) {
	var timeout <-chan time.Time
	// Without time left, w waits only for a response: it is refused once a limit is the reason.
	if left > 0 {
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

// withdraw gives back the permit that w may have got, or removes w from the waiters. Then it
// dispatches, since another request may take the place.
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

// refuseLate refuses w if it cannot be admitted in time, with that many others before it, and
// reports whether it did. A wait for a response is no reason to refuse, because nobody knows how
// long it will take.
func (q *queue) refuseLate(now time.Time, w *waiter, before int) bool {
	limit := q.earliest(now, before, w.Background)
	at, left := later(limit, w.NotBefore), w.MaxWait-(q.clock(now)-w.clock)
	if !at.After(now) || at.Sub(now) <= left && (w.deadline.IsZero() || !at.After(w.deadline)) {
		return false
	}
	q.refuse(w, now, limit, nil)
	return true
}

// refuse refuses a waiter because it would have to wait for a limit until the given time, or
// because its context has ended. If a limit is the reason, it is reported that the key is closed.
func (q *queue) refuse(w *waiter, now, limit time.Time, ended error) {
	e := &Error{RetryAt: later(limit, w.NotBefore), Window: q.budget.known(), Err: ended}
	e.Reason, w.refused = q.budget.scopeAt(now, limit), e
	switch {
	case ended != nil && e.Reason == "":
		e.RetryAt = time.Time{} // a response decides
		e.Err = fmt.Errorf("before the request was sent: %w", ended)
	case ended == nil && e.Reason != "":
		w.closed = q.budget.close(q.budget.lockoutOf(e.Reason, limit))
	}
}

// contextError returns an error that matches the error and the cause of a context that has ended;
// nil if it has not ended. It looks at the deadline, too, which may pass a moment before the
// context's own timer fires.
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
