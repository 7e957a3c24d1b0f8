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
	Start      Start         // reports the wait; nil for none
}

// Wait is what a call is told about its wait.
type Wait struct {
	Reason  quota.Reason // at the start of the wait
	Until   time.Time    // zero if a response decides
	Waiting int          // calls in the queue, including this one; Queue.Tell sets it
}

// Start reports the start of a wait, and returns what reports its end. free is the part of the wait
// that was not for a limit. Both run functions of the user.
type Start func(w Wait) (done func(free time.Duration))

// Waiter is a call in a [Queue].
type Waiter[P any] struct {
	Number  int           // of its arrival in the queue
	MaxWait time.Duration // longest wait for limits

	asked    time.Time
	order    uint64 // among those that asked at the same time
	start    Start
	class    int
	deadline time.Time // of the context; zero if it has none
	entered  time.Time
	clock    time.Duration // Queue.Clock when the waiter entered
	free     time.Duration // set at the end: time waited for responses, not for limits

	queued    bool  // it is in Queue.waiters
	wait      *Wait // to be reported
	told      bool  // wait has been set
	reporting bool  // it does not wait while it reports, and will come back

	permit  P
	granted bool
	refused *Refusal
	ready   chan struct{} // receives a value when wait, permit or refused is set
}

// NewWaiter returns a waiter for c, which is not in the queue yet, or a refusal if c cannot be
// served in time.
func (q *Queue[P]) NewWaiter(ctx context.Context, now time.Time, c Call) (*Waiter[P], *Refusal) {
	q.order++
	w := &Waiter[P]{
		asked: c.Asked, order: q.order, start: c.Start, MaxWait: max(0, c.MaxWait),
		entered: now, clock: q.Clock(now), ready: make(chan struct{}, 1),
	}
	if w.asked.IsZero() {
		w.asked = now
	}
	if c.Background {
		w.class = background
	}
	w.deadline, _ = ctx.Deadline()
	if r := q.late(now, w, q.Before(w)); r != nil {
		return nil, r
	}
	return w, nil
}

// Tell has w report, once, what it waits for. Meanwhile it gets no permit: the user's functions may
// make a call that would wait for the response to this one.
func (q *Queue[P]) Tell(now time.Time, w *Waiter[P], wait Wait) {
	if w.told {
		return
	}
	wait.Waiting = q.Len()
	late := false // w came late, but asked early
	if !w.queued {
		wait.Waiting++
		late = q.insert(w)
	}
	w.told, w.wait = true, &wait
	q.report(w, true)
	w.wake()
	if late {
		q.RefuseLate(now)
	}
}

// Join puts w into the queue, unless it cannot be served in time.
func (q *Queue[P]) Join(now time.Time, w *Waiter[P]) {
	q.budget.Dispatch(now)
	if r := q.late(now, w, q.Before(w)); r != nil {
		q.Refuse(w, r)
		return
	}
	q.arrived++
	w.Number = q.arrived
	if !w.queued {
		q.insert(w)
	}
	q.report(w, false)
	if w.class == background && q.waiting(background) == 1 {
		q.passed = 0
	}
	q.budget.Dispatch(now)
}

// Await waits until w has a permit or is refused, its context ends, or it has waited for limits as
// long as it may. The lock must not be held.
func (q *Queue[P]) Await(ctx context.Context, w *Waiter[P]) (P, *Refusal) {
	finished, done := false, func(time.Duration) {}
	defer func() {
		if !finished { // a function of the user panicked
			q.budget.Lock()
			defer q.budget.Unlock()
			q.withdraw(w, time.Now())
		}
	}()
	for {
		wait, left, over := q.check(ctx, w)
		switch {
		case over:
			done(w.free)
			finished = true
			return w.permit, w.refused
		case wait != nil:
			if w.start != nil {
				done = w.start(*wait)
			}
			q.comeBack(w)
		default:
			w.awaitEvent(ctx, left)
		}
	}
}

// check returns what w has to report, or how long it may still wait for limits, or reports whether
// its wait is over.
func (q *Queue[P]) check(ctx context.Context, w *Waiter[P]) (report *Wait, left time.Duration, over bool) {
	q.budget.Lock()
	defer q.budget.Unlock()
	if report, w.wait = w.wait, nil; report != nil {
		return report, 0, false
	}
	now := time.Now()
	q.budget.Dispatch(now) // the wait may be over at the same time as maxWait
	spent := q.spent(now, w)
	w.free = now.Sub(w.entered) - spent
	switch {
	case deadline.Err(ctx) != nil: // even if the permit came at the same time
		q.withdraw(w, now)
		w.refused = q.Ended(now, true)
	case w.granted, w.refused != nil:
	case w.wait != nil, spent < w.MaxWait, spent == 0, q.since.IsZero(): // without a limit the wait is free
		left = w.MaxWait - spent
		if q.least != nil {
			left = max(left, q.least())
		}
		return nil, left, false
	default:
		q.withdraw(w, now)
		w.refused = q.budget.Refusal(now, q.earliest(now, w, 0))
	}
	return nil, 0, true
}

// Ended returns the refusal of a call whose context has ended. waited is whether that was in the
// queue.
func (q *Queue[P]) Ended(now time.Time, waited bool) *Refusal {
	r := q.budget.Refusal(now, q.budget.Earliest(now, 0, false))
	r.Ended, r.Waited = true, waited
	return r
}

// comeBack puts w into the queue after it has reported.
func (q *Queue[P]) comeBack(w *Waiter[P]) {
	q.budget.Lock()
	defer q.budget.Unlock()
	q.Join(time.Now(), w)
}

// awaitEvent waits for the first event that may end the wait of w.
func (w *Waiter[P]) awaitEvent(ctx context.Context, left time.Duration) {
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

// spent returns how long w has waited for limits.
func (q *Queue[P]) spent(now time.Time, w *Waiter[P]) time.Duration { return q.Clock(now) - w.clock }

// earliest returns a time before which w cannot get a permit if that many others go before it.
func (q *Queue[P]) earliest(now time.Time, w *Waiter[P], before int) time.Time {
	return q.budget.Earliest(now, before, w.class == background)
}

// late returns a refusal if w cannot be served in time when that many others go before it. Each
// window after the next one may begin up to a second late, the grain of Reset: 1/60 of the time by
// which it is after the next one.
func (q *Queue[P]) late(now time.Time, w *Waiter[P], before int) *Refusal {
	at := q.earliest(now, w, before)
	if !at.After(now) {
		return nil // as far as known, w need not wait for a limit
	}
	latest := at.Add(at.Sub(q.earliest(now, w, 0)) / 60)
	if latest.Sub(now) > w.MaxWait-q.spent(now, w) || !w.deadline.IsZero() && latest.After(w.deadline) {
		return q.budget.Refusal(now, at)
	}
	return nil
}

// withdraw ends the wait of w: it gives back the permit that w may have got, or removes w from the
// queue.
func (q *Queue[P]) withdraw(w *Waiter[P], now time.Time) {
	if w.granted {
		var none P
		q.budget.GiveBack(w.permit, now)
		w.permit, w.granted = none, false
	}
	q.leave(w)
	q.budget.Dispatch(now)
}

// wake has await look at w again.
func (w *Waiter[P]) wake() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}
