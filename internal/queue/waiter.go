package queue

import (
	"context"
	"time"

	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/quota"
)

// Call is a call that wants a permit.
type Call struct {
	KeyID      string        // empty outside a call
	Asked      time.Time     // when the call asked first: orders the calls of a class; zero for now
	Background bool          // it queues behind the others
	MaxWait    time.Duration // longest wait for limits
	Reporter   Reporter      // nil for none
}

// Wait describes the wait of a call.
type Wait struct {
	Reason  quota.Reason // at the start of the wait
	Until   time.Time    // zero if a response decides
	Waiting int          // calls in the queue, including this one
}

// Reporter reports the start of a wait, and returns what reports its end. free is the part of the
// wait that was not for a limit. Both run functions of the user.
type Reporter interface {
	ReportWait(w Wait) (done func(free time.Duration))
}

// waiter is a call in a queue.
type waiter struct {
	reporter Reporter
	wait     Wait // to be reported
	asked    time.Time
	order    uint64 // among those that asked at the same time
	class    int
	maxWait  time.Duration // longest wait for limits
	deadline time.Time     // of the context; zero if it has none
	entered  time.Time
	clock    time.Duration // queue.clock when the waiter entered
	free     time.Duration // set at the end: time waited for responses, not for limits

	joined  bool // it has reported its wait, and can get a permit
	permit  *Permit
	refused *Refusal
	ready   chan struct{} // closed when permit or refused is set
}

// newWaiter returns a waiter for c that has to report its wait, or a refusal if c cannot be served in
// time. While it reports it gets no permit: the user's functions may make a call that would wait for
// the response to this one.
func (q *queue) newWaiter(ctx context.Context, now time.Time, c Call) (*waiter, *Refusal) {
	q.order++
	w := &waiter{
		reporter: c.Reporter, asked: c.Asked, order: q.order, maxWait: max(0, c.MaxWait),
		wait:    Wait{q.why.Reason, q.why.Until, q.length() + 1},
		entered: now, clock: q.clock(now), ready: make(chan struct{}),
	}
	if w.asked.IsZero() {
		w.asked = now
	}
	if c.Background {
		w.class = background
		if w.wait.Reason == quota.Reason(quota.Minute) {
			w.wait.Reason = ForReserve
		}
	}
	w.deadline, _ = ctx.Deadline()
	if r := q.late(now, w, q.ahead(w)); r != nil {
		return nil, r
	}
	line := &q.lines[w.class]
	line.insert(w)
	// If w was put before others, it may have made the last of them late.
	if last := (*line)[len(*line)-1]; q.refuseIfLate(now, last, q.ahead(last)) {
		line.remove(last)
	}
	return w, nil
}

// await has w report its wait. Then it waits until w has a permit or is refused, until the context
// of w ends, or until w has waited for limits for as long as it may. The lock must not be held.
func (q *queue) await(ctx context.Context, w *waiter) (*Permit, *Refusal) {
	finished := false
	defer func() {
		if !finished { // a function of the user panicked
			q.limiter.mu.Lock()
			defer q.limiter.mu.Unlock()
			q.withdraw(w, time.Now())
		}
	}()
	done := func(time.Duration) {}
	if w.reporter != nil {
		done = w.reporter.ReportWait(w.wait)
	}
	q.join(w)
	for {
		left, over := q.check(ctx, w)
		if over {
			done(w.free)
			finished = true
			return w.permit, w.refused
		}
		w.awaitEvent(ctx, left)
	}
}

// join has w wait after it has reported, unless it cannot be served in time.
func (q *queue) join(w *waiter) {
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	now := time.Now()
	if w.refused = q.late(now, w, q.ahead(w)); w.refused != nil {
		q.leave(w)
		return
	}
	w.joined = true
	q.joined[w.class]++
	q.dispatch(now)
}

// check returns how long w may still wait for limits, or reports whether its wait is over.
func (q *queue) check(ctx context.Context, w *waiter) (left time.Duration, over bool) {
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	now := time.Now()
	q.dispatch(now)                 // the wait may be over at the same time as maxWait
	spent := q.clock(now) - w.clock // the time that w has waited for limits
	w.free = now.Sub(w.entered) - spent
	switch {
	case deadline.Err(ctx) != nil: // even if the permit came at the same time
		q.withdraw(w, now)
		w.refused = q.ended(now, true)
	case w.permit != nil, w.refused != nil:
	case spent < w.maxWait, spent == 0, q.since.IsZero(): // without a limit the wait is free
		return w.maxWait - spent, false
	default:
		q.withdraw(w, now)
		w.refused = q.refusal(now, q.budget.Earliest(now, 0, w.class == background))
	}
	return 0, true
}

// awaitEvent waits for the first event that may end the wait of w.
func (w *waiter) awaitEvent(ctx context.Context, left time.Duration) {
	var timeout <-chan time.Time
	if left > 0 { // else w is refused as soon as a limit is the reason
		timer := time.NewTimer(left)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-w.ready:
	case <-timeout:
	case <-ctx.Done():
	}
}

// late returns a refusal if w cannot be served in time when that many others go before it.
func (q *queue) late(now time.Time, w *waiter, before int) *Refusal {
	at := q.budget.Earliest(now, before, w.class == background)
	switch left := w.maxWait - (q.clock(now) - w.clock); {
	case !at.After(now): // as far as known, w need not wait for a limit
	case at.Sub(now) > left, !w.deadline.IsZero() && at.After(w.deadline):
		return q.refusal(now, at)
	}
	return nil
}

// withdraw ends the wait of w: it gives back the permit that w may have got, or removes w from the
// queue.
func (q *queue) withdraw(w *waiter, now time.Time) {
	switch {
	case w.permit != nil:
		w.permit.released = true
		q.budget.Settle(w.permit.slot, &quota.Observation{}, now)
		w.permit = nil
	case w.refused == nil:
		q.leave(w)
	}
	q.dispatch(now)
}
