package ratelimit

import (
	"context"
	"time"
)

// waiter is a request in a queue, from newWaiter to the end of await. First it reports its wait and
// waits until notBefore; then it joins those that can get a permit. Its wait ends when it has a permit
// or a refusal (ready), when its context ends, or when it has waited for limits for maxWait.
type waiter struct {
	observer  Observer
	wait      Wait // to be reported
	asked     time.Time
	order     uint64 // among those that asked at the same time
	class     int
	maxWait   time.Duration // longest wait for limits
	deadline  time.Time     // of the context; zero if it has none
	notBefore time.Time
	entered   time.Time
	clock     time.Duration // queue.clock when the waiter entered, without its wait for notBefore

	quiet   bool // it need not report its wait before the pot has replied
	joined  bool // it can get a permit
	permit  *permit
	refused *refusal
	ready   chan struct{} // closed when permit or refused is set; gets a value when quiet ends
}

// newWaiter returns a waiter for r that has to report its wait, or a refusal if r cannot be admitted
// in time. While it reports it gets no permit: the user's functions may make a request that would
// wait for the response to this one.
func (q *queue) newWaiter(ctx context.Context, now time.Time, r *Request) (*waiter, *refusal) {
	q.order++
	w := &waiter{
		observer: r.Observer, asked: r.Asked, order: q.order, maxWait: max(0, r.MaxWait), notBefore: r.NotBefore,
		entered: now, clock: q.clock(now), ready: make(chan struct{}, 1),
	}
	if w.asked.IsZero() {
		w.asked = now
	}
	if r.Background {
		w.class = background
	}
	w.quiet = q.mustAsk() && !r.NotBefore.After(now)
	w.deadline, _ = ctx.Deadline()
	if refused := q.late(now, w, q.ahead(w)); refused != nil {
		return nil, refused
	}
	line := &q.lines[w.class]
	line.insert(w)
	q.describe(w, now)
	// If w was put before others, it may have made the last of them late.
	if last := (*line)[len(*line)-1]; q.refuseIfLate(now, last, q.ahead(last)) {
		line.remove(last)
	}
	return w, nil
}

// await has w report its wait. Then it waits until w has a permit or is refused, until the context
// of w ends, or until w has waited for limits for as long as it may. The lock must not be held.
func (q *queue) await(ctx context.Context, w *waiter) (*permit, *refusal) {
	finished, started := false, false
	done := func() { // once for each WaitStart, also if that panics
		if o := w.observer; o != nil && started {
			w.observer = nil
			o.WaitDone(w.wait)
		}
	}
	defer func() {
		if !finished { // a function of the user panicked
			q.abandon(w)
			done()
		}
	}()
	for report := !w.quiet; ; {
		if report {
			started = true
			q.report(ctx, w)
		}
		q.join(w)
		left, over := q.check(ctx, w)
		if over {
			done()
			finished = true
			return w.permit, w.refused
		}
		report = w.awaitEvent(ctx, left)
	}
}

// report has w report its wait, and waits until notBefore.
func (q *queue) report(ctx context.Context, w *waiter) {
	if w.observer != nil {
		w.observer.WaitStart(w.wait)
	}
	for ctx.Err() == nil {
		early := w.notBefore.Sub(q.limiter.now())
		if early <= 0 {
			return
		}
		w.awaitEvent(ctx, early)
	}
}

// describe sets what w will report.
func (q *queue) describe(w *waiter, now time.Time) {
	w.wait.Reason, w.wait.Until, w.wait.Waiting = q.why.Reason, q.why.Until, q.length()
	if w.class == background && w.wait.Reason == Reason(ScopeMinute) {
		w.wait.Reason = ReasonBackground
	}
	if w.notBefore.After(now) {
		w.wait.Reason, w.wait.Until = ReasonBackoff, w.notBefore
		if l := q.budget.closedNow(now); !l.Until.IsZero() {
			w.wait.Reason, w.wait.Until = Reason(l.Scope), later(l.Until, w.notBefore)
		}
	}
}

// abandon ends the wait of a request whose caller has panicked.
func (q *queue) abandon(w *waiter) {
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	q.withdraw(w, q.limiter.now())
}

// join has w wait after it has reported, unless it cannot be admitted in time. All of the time until
// notBefore counts as waited for limits.
func (q *queue) join(w *waiter) {
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	now := q.limiter.now()
	if w.joined || w.permit != nil || w.refused != nil {
		return
	}
	if w.notBefore.After(w.entered) {
		w.clock = q.clock(now) - now.Sub(w.entered)
	}
	if w.refused = q.late(now, w, q.ahead(w)); w.refused != nil {
		q.leave(w)
		return
	}
	w.joined = true
	if w.quiet {
		q.pot.quiet = append(q.pot.quiet, w)
	}
	q.joined[w.class]++
	q.dispatch(now)
}

// check returns how long w may still wait for limits, or reports whether its wait is over.
func (q *queue) check(ctx context.Context, w *waiter) (left time.Duration, over bool) {
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	now := q.limiter.now()
	q.dispatch(now) // the wait may be over at the same time as maxWait
	w.wait.Duration = now.Sub(w.entered)
	w.wait.Limited = q.clock(now) - w.clock
	w.wait.Window, w.wait.Sent, w.wait.Processes = q.budget.known(), q.budget.own, q.budget.processes
	switch limited := w.wait.Limited; {
	case contextErr(ctx, now) != nil: // even if the permit came at the same time
		q.withdraw(w, now)
		w.refused = q.ended(ctx, now, "while waiting for a response")
	case w.permit != nil, w.refused != nil:
	case limited < w.maxWait, limited == 0, q.since.IsZero(): // without a limit the wait is free
		return w.maxWait - limited, false
	default:
		q.withdraw(w, now)
		w.refused = q.refuse(now, q.earliest(now, 0, w.class == background))
	}
	return 0, true
}

// awaitEvent waits for the first event that may end the wait of w, and reports whether w must report
// its wait.
func (w *waiter) awaitEvent(ctx context.Context, left time.Duration) (report bool) {
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

// withdraw ends the wait of w: it gives back the permit that w may have got, or removes w from the
// queue.
func (q *queue) withdraw(w *waiter, now time.Time) {
	switch {
	case w.permit != nil:
		w.permit.released = true
		w.permit.settle(&Outcome{}, now)
		w.permit = nil
	case w.refused == nil:
		q.leave(w)
	}
	q.dispatch(now)
}
