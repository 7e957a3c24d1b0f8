package petstoreredis

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// limit is until when the pot is empty, as far as known, and how long it has been empty so far.
type limit struct {
	spent        time.Duration // before since
	since, until time.Time
}

// total returns for how long the pot has been empty.
func (l *limit) total(now time.Time) time.Duration {
	if now.After(l.until) {
		now = l.until
	}
	return l.spent + max(0, now.Sub(l.since))
}

// close records that the pot is empty until then; it is not if that is now.
func (l *limit) close(now, until time.Time) {
	l.spent, l.since, l.until = l.total(now), now, until
}

// Acquire implements [petstore.Limiter]. r.MaxWait limits how long the call waits for a window or a
// closed key. Waits for Redis and for the responses of other requests count only beyond ten
// seconds.
func (l *Limiter) Acquire(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
	w := &waiter{request: r, entered: time.Now(), wake: make(chan struct{}, 1)}
	if r.Asked.IsZero() {
		w.request.Asked = w.entered
	}
	w.deadline, _ = ctx.Deadline()
	for {
		l.enter(w)
		l.await(ctx, w)
		switch {
		case w.permit != nil:
			return w.permit, nil
		case w.refused != nil:
			return nil, w.refused
		}
		if p, err := l.acquireAlone(ctx, w); p != nil || err != nil {
			return p, err
		}
	}
}

// enter puts w into the queue.
func (l *Limiter) enter(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !w.alone {
		w.limited = l.limit.total(now)
	}
	w.alone, w.told = false, false
	before := l.calls.insert(w)
	l.pump(now)
	l.review(now, w, before)
}

// await waits until w has a permit, is refused or has to go on without Redis.
func (l *Limiter) await(ctx context.Context, w *waiter) {
	finished, done := false, func(time.Duration) {}
	defer func() {
		if !finished { // a function of the user panicked
			l.mu.Lock()
			defer l.mu.Unlock()
			l.withdraw(w)
		}
	}()
	for {
		tell, left, over := l.check(ctx, w)
		switch {
		case over:
			done(left)
			finished = true
			return
		case tell != nil:
			done = w.request.StartWait(*tell)
			w.ready()
		default:
			timer := time.NewTimer(left)
			select {
			case <-w.wake:
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
		}
	}
}

// check returns what w has to report, or how long it may wait on. If its wait is over, it returns
// how much of it was not for a limit.
func (l *Limiter) check(ctx context.Context, w *waiter) (tell *petstore.Wait, left time.Duration, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	w.reporting = false
	l.pump(now)
	spent, waited := l.limit.total(now)-w.limited, now.Sub(w.entered)
	limited, all := w.request.MaxWait-spent, w.request.MaxWait+freeWait-waited
	switch {
	case ctx.Err() != nil: // even if the permit came at the same time
		l.withdraw(w)
		w.refused = l.refusal(now, now)
		w.refused.Err = ended(ctx)
	case w.permit != nil || w.refused != nil || w.alone:
	case w.tell != nil:
		tell, w.tell, w.reporting = w.tell, nil, true
		return tell, 0, false
	case l.closed(now) && limited <= 0 || all <= 0:
		l.withdraw(w)
		if w.refused = l.refusal(now, l.limit.until); !l.closed(now) {
			w.refused.Err = fmt.Errorf("no permit of the other processes within %v", waited.Round(time.Second))
		}
	default:
		if limited > 0 {
			all = min(limited, all)
		}
		return nil, all, false
	}
	return nil, max(0, waited-spent), true
}

// withdraw takes w out of the queue, or its permit back.
func (l *Limiter) withdraw(w *waiter) {
	l.calls.remove(w)
	if p := w.permit; p != nil {
		w.permit = nil
		l.stats.InFlight--
		if p.released = true; p.window == l.pot.Window {
			l.held++
		}
	}
	l.pump(time.Now())
}

// closed reports whether the pot is known to be empty, and was not long enough ago to be reopened
// since.
func (l *Limiter) closed(now time.Time) bool {
	brief := l.limit.until.Sub(l.heard) <= minute+slack
	return now.Before(l.limit.until) && (brief || l.outage != nil || now.Sub(l.heard) < trust)
}

// reviewAll gives permits to the first calls, and reviews the others.
func (l *Limiter) reviewAll(now time.Time) {
	l.serve(now)
	for i, w := range slices.Clone(l.calls) {
		l.review(now, w, i)
	}
}

// review refuses w if its wait would be too long, or has it report, once, what it waits for.
func (l *Limiter) review(now time.Time, w *waiter, before int) {
	wait := petstore.Wait{Reason: petstore.WaitResponse, Waiting: len(l.calls)}
	switch {
	case !w.queued:
		return
	case l.closed(now):
		wait.Until = l.limit.until.Add(time.Duration(before/max(1, l.pot.Limit)) * minute)
		wait.Reason = petstore.WaitReason(l.pot.Scope)
		left := w.request.MaxWait - l.limit.total(now) + w.limited
		if wait.Until.Sub(now) > left || !w.deadline.IsZero() && wait.Until.After(w.deadline) {
			l.calls.remove(w)
			w.refused = l.refusal(now, wait.Until)
			w.ready()
			return
		}
	case l.polls == 0:
		return // it waits for Redis
	}
	if !w.told {
		w.told, w.tell = true, &wait
		w.ready()
	}
}

// refusal returns the error of a call that would have to wait until at.
func (l *Limiter) refusal(now, at time.Time) *petstore.RateLimitError {
	e := &petstore.RateLimitError{RateLimit: l.shown}
	if now.Before(l.limit.until) {
		e.Scope = petstore.LimitScope(l.pot.Scope)
	}
	if at.After(now) {
		e.RetryAt = at
	}
	return e
}

// ended returns the error of a context that has ended, with its cause.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(ctx.Err(), cause) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}
