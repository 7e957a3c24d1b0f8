package petstoreredis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/petstore/petstore-go"
)

const (
	// freeWait is the longest wait for Redis and for responses that does not count against MaxWait.
	freeWait = 10 * time.Second
	// trust is how long a reply is believed that the key is closed for more than a minute: another
	// process may have reopened it.
	trust = 8 * time.Second
)

// step is what a waiter does next.
type step int

const (
	wait    step = iota // until it is woken
	tell                // that it waits, and why
	over                // it has a permit or is refused
	goAlone             // without Redis
)

// Acquire implements [petstore.Limiter]. r.MaxWait limits how long the call waits from the first
// moment at which a window is used up or the key is closed. Waits before that, for Redis and for
// the responses of other requests, count only as far as they exceed ten seconds.
func (l *Limiter) Acquire(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
	w := newWaiter(ctx, r)
	defer func() {
		if w.permit != nil { // the context has ended, or a function of the user has panicked
			w.permit.Release(petstore.Observation{})
		}
	}()
	done := func(time.Duration) {}
	for {
		switch l.next(ctx, w) {
		case wait:
			w.sleep(ctx)
		case tell: // not in the queue, because the user's functions may wait for other calls
			done = r.StartWait(w.reason)
		case over:
			done(w.free())
			if w.refused != nil {
				return nil, w.refused
			}
			p := w.permit
			w.permit = nil
			return p, nil
		case goAlone:
			done(w.free())
			done = func(time.Duration) {}
			if p, err := l.acquireAlone(ctx, w); p != nil || err != nil {
				return p, err
			}
		}
	}
}

// next returns what w does next. It puts w into the queue, or takes it out.
func (l *Limiter) next(ctx context.Context, w *waiter) step {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.permit == nil && !w.queued {
		l.calls.insert(w)
	}
	now := time.Now()
	l.pump(now)
	switch {
	case ctx.Err() != nil: // even if the permit came at the same time
		return l.refuse(w, now, now, ended(ctx))
	case w.permit != nil:
		return over
	case l.outage != nil:
		l.calls.remove(w)
		w.told, w.outage = false, l.outage
		l.outage.waiting++
		l.pump(now)
		return goAlone
	}
	return l.review(w, now)
}

// review refuses w if its wait would be too long, or has it report, once, what it waits for.
func (l *Limiter) review(w *waiter, now time.Time) step {
	reason := petstore.Wait{Reason: petstore.WaitResponse, Waiting: len(l.calls)}
	closed := l.closed(now)
	if closed {
		// The window in which w gets a permit may be a later one than the next.
		reason.Until = l.closedUntil.Add(time.Duration(w.before/max(1, l.pot.Limit)) * minute)
		reason.Reason = petstore.WaitReason(l.pot.Scope)
		if w.limited.IsZero() {
			w.limited = now
		}
	}
	switch {
	case closed && w.tooLate(reason.Until):
		return l.refuse(w, now, reason.Until, nil)
	case !now.Before(w.end):
		waited := now.Sub(w.entered).Round(time.Second)
		return l.refuse(w, now, reason.Until, fmt.Errorf("no permit of the other processes within %v", waited))
	case !w.told && (closed || l.polls > 0):
		l.calls.remove(w)
		w.told, w.reason = true, reason
		return tell
	}
	return wait
}

// closed reports whether the pot is known to be empty, and was not long enough ago to be reopened
// since.
func (l *Limiter) closed(now time.Time) bool {
	brief := l.closedUntil.Sub(l.heard) <= minute+slack
	return now.Before(l.closedUntil) && (brief || now.Sub(l.heard) < trust)
}

// wakeAll has all waiting calls find out what to do next.
func (l *Limiter) wakeAll() {
	for i, w := range l.calls {
		w.before = i
		w.ready()
	}
}

// refuse ends the wait of w with an error: it would have to wait until at.
func (l *Limiter) refuse(w *waiter, now, at time.Time, err error) step {
	w.refused = &petstore.RateLimitError{RateLimit: l.shown, Err: err}
	if now.Before(l.closedUntil) {
		w.refused.Scope = petstore.LimitScope(l.pot.Scope)
	}
	if at.After(now) {
		w.refused.RetryAt = at
	}
	l.calls.remove(w)
	l.pump(now)
	return over
}

// ended returns the error of a context that has ended, with its cause.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(ctx.Err(), cause) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}
