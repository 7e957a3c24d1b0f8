package petstoreredis

import (
	"context"
	"time"

	"github.com/petstore/petstore-go"
)

// Acquire implements [petstore.Limiter]. maxWait bounds how long the call waits for a window or a
// closed key. The time that Redis takes, [WithTimeout] at the most, and that of a response which
// decides are not part of it.
func (l *Limiter) Acquire(ctx context.Context, maxWait time.Duration) (petstore.Permit, error) {
	p, w, err := l.enter(ctx, maxWait)
	switch {
	case err != nil:
		return nil, err
	case p != nil:
		return p, nil
	}
	// If a handler of the wait panics, w leaves the queue.
	served := false
	defer func() {
		if !served {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.withdraw(w, time.Now())
		}
	}()
	p, err = l.await(ctx, w)
	served = true
	if err != nil {
		return nil, err
	}
	return p, nil
}

// enter returns a permit, a place in the queue, or an error.
func (l *Limiter) enter(ctx context.Context, maxWait time.Duration) (*permit, *waiter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if end := endOf(ctx); end != nil {
		return nil, nil, l.ended(now, end)
	}
	ticket := petstore.Ticket(ctx, l, l.issue)
	l.expire(now)
	if l.fallback.share != nil && !now.Before(l.fallback.tryAt) {
		l.send(now)
	}
	_, ahead := l.queue.ahead(ticket)
	if l.queue.len() == 0 {
		if p := l.take(now); p != nil {
			return p, nil, nil
		}
	}
	w := newWaiter(ctx, now, ticket, maxWait, l.queue.clock(now))
	if at := l.earliest(now, ahead); w.late(now, at, 0) {
		l.ask(now)
		return nil, nil, l.refusal(now, at)
	}
	l.queue.enter(w)
	if at := l.earliest(now, ahead); at.After(now) {
		w.report(l.wait(now, at))
	}
	l.dispatch(now)
	return nil, w, nil
}

// issue returns the next ticket.
func (l *Limiter) issue() uint64 {
	l.tickets++
	return l.tickets
}

// await waits until w has a permit or is refused, its context ends, or it has waited for limits as
// long as it may.
func (l *Limiter) await(ctx context.Context, w *waiter) (*permit, error) {
	why, done := w.why, func(time.Duration) {}
	defer func() { done(w.free) }()
	for {
		timer := time.NewTimer(l.left(w))
		select {
		case <-w.ready:
		case <-timer.C:
		case <-ctx.Done():
		case reason := <-why:
			why, done = nil, petstore.StartWait(ctx, reason)
		}
		timer.Stop()
		if ended, p, err := l.outcome(ctx, w); ended {
			return p, err
		}
	}
}

// left returns how long w waits before it checks whether its time is over: as long as it may still
// wait for limits, and at least as long as a command may take.
func (l *Limiter) left(w *waiter) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(w.maxWait-w.spent(l.queue.clock(time.Now())), l.longestTrip())
}

// outcome reports whether the wait of w is over, and with what.
func (l *Limiter) outcome(ctx context.Context, w *waiter) (bool, *permit, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	spent := w.spent(l.queue.clock(now))
	w.free = now.Sub(w.entered) - spent
	if end := endOf(ctx); end != nil { // also if the permit came at the same instant
		l.withdraw(w, now)
		return true, nil, l.ended(now, end)
	}
	switch {
	case w.permit != nil:
		return true, w.permit, nil
	case w.refused != nil:
		return true, nil, w.refused
	case spent < w.maxWait || spent == 0:
		return false, nil, nil
	}
	l.withdraw(w, now)
	return true, nil, l.refusal(now, l.earliest(now, 0))
}

// wait describes the wait of a call that cannot go before at.
func (l *Limiter) wait(now, at time.Time) petstore.Wait {
	w := petstore.Wait{Reason: petstore.WaitReason(l.scope(now, at)), Waiting: l.queue.len()}
	if w.Reason == "" {
		w.Reason = petstore.WaitResponse
	}
	if at.After(now) {
		w.Until = at
	}
	return w
}

// withdraw takes back what w waited for.
func (l *Limiter) withdraw(w *waiter, now time.Time) {
	switch {
	case w.permit != nil && !w.permit.released:
		l.giveBack(w.permit, petstore.Observation{}, now)
	case w.place != nil:
		l.queue.leave(w)
	}
	l.dispatch(now)
}

// ask asks Redis now and then, for a call that is refused, whether another process has learned more
// since.
func (l *Limiter) ask(now time.Time) {
	if !l.busy && now.Sub(l.sentAt) >= askEvery && (l.fallback.share == nil || !now.Before(l.fallback.tryAt)) {
		l.send(now)
		l.arm(now)
	}
}
