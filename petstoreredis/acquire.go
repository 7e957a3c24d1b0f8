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
	trust = 10 * time.Second
)

// limit is until when the pot is empty, as far as known, and how long it has been empty so far.
type limit struct {
	spent        time.Duration // before since
	since, until time.Time
	background   bool // only the reserve is left
}

// limited returns for how long the pot has been empty.
func (l *limit) limited(now time.Time) time.Duration {
	if now.After(l.until) {
		now = l.until
	}
	return l.spent + max(0, now.Sub(l.since))
}

// close records that the pot is empty until then.
func (l *limit) close(now, until time.Time) {
	l.spent = l.limited(now)
	l.since, l.until = now, until
}

// open records that it is no more.
func (l *limit) open(now time.Time) { l.close(now, now) }

// Acquire implements [petstore.Limiter]. r.MaxWait limits how long the call waits for a window or a
// closed key. Of the time that Redis and the responses of other requests take, it counts what goes
// beyond ten seconds.
func (l *Limiter) Acquire(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
	now := time.Now()
	if r.Asked.IsZero() {
		r.Asked = now
	}
	w := &waiter{request: r, entered: now, wake: make(chan struct{}, 1)}
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
	if w.alone {
		w.alone, w.told = false, false
	} else {
		w.limited = l.limited(now)
	}
	l.calls.insert(w)
	l.pump(now)
	l.review(now, w, l.ahead(w))
}

// ahead returns the number of calls that go before w, if it has just come.
func (l *Limiter) ahead(w *waiter) int {
	if w.background() {
		return l.calls.len() - 1
	}
	return len(l.calls.front) - 1
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
			done(l.free(w))
			finished = true
			return
		case tell != nil:
			done = w.request.StartWait(*tell)
			l.comeBack(w)
		default:
			w.sleep(ctx, left)
		}
	}
}

// check returns what w has to report, or how long it may wait on, or reports whether its wait is
// over.
func (l *Limiter) check(ctx context.Context, w *waiter) (tell *petstore.Wait, left time.Duration, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.pump(now)
	if ctx.Err() != nil { // even if the permit came at the same time
		l.withdraw(w)
		w.refused = l.refusal(now, now)
		w.refused.Err = ended(ctx)
		return nil, 0, true
	}
	if w.permit != nil || w.refused != nil || w.alone {
		return nil, 0, true
	}
	if tell, w.tell = w.tell, nil; tell != nil {
		w.reporting = true
		return tell, 0, false
	}
	limited, all := w.request.MaxWait-l.spent(now, w), w.request.MaxWait+freeWait-now.Sub(w.entered)
	if l.closedFor(now, w) && limited <= 0 || all <= 0 {
		l.withdraw(w)
		w.refused = l.refusal(now, l.until)
		return nil, 0, true
	}
	if limited > 0 {
		all = min(limited, all)
	}
	return nil, all, false
}

// comeBack lets w get a permit after it has reported its wait.
func (l *Limiter) comeBack(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.reporting = false
}

// sleep waits for the next event.
func (w *waiter) sleep(ctx context.Context, left time.Duration) {
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-w.wake:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// withdraw takes w out of the queue, or its permit back.
func (l *Limiter) withdraw(w *waiter) {
	l.calls.remove(w)
	if p := w.permit; p != nil {
		w.permit = nil
		l.stats.InFlight--
		if p.released = true; p.window != 0 {
			l.held++
		}
	}
	l.pump(time.Now())
}

// spent returns how long w has waited for limits.
func (l *Limiter) spent(now time.Time, w *waiter) time.Duration { return l.limited(now) - w.limited }

// free returns how long w has waited for something else.
func (l *Limiter) free(w *waiter) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return max(0, now.Sub(w.entered)-l.spent(now, w))
}

// closedFor reports whether the pot is known to be empty for w.
func (l *Limiter) closedFor(now time.Time, w *waiter) bool {
	return now.Before(l.until) && (w.background() || !l.limit.background) && !l.stale(now)
}

// stale reports whether the pot may have been reopened since the last reply.
func (l *Limiter) stale(now time.Time) bool {
	return l.outage == nil && now.Sub(l.heard) >= trust && l.until.Sub(l.heard) > minute+slack
}

// review refuses w if its wait would be too long, or has it report that it waits.
func (l *Limiter) review(now time.Time, w *waiter, before int) {
	if !w.queued || w.told && !l.closedFor(now, w) {
		return
	}
	if !l.closedFor(now, w) {
		if l.heard.IsZero() || l.polls == 0 {
			return // it waits for Redis
		}
		l.tell(w, petstore.Wait{Reason: petstore.WaitResponse})
		return
	}
	at := l.until
	if l.pot.Limit > 0 {
		at = at.Add(time.Duration(before/l.pot.Limit) * minute)
	}
	if at.Sub(now) > w.request.MaxWait-l.spent(now, w) || !w.deadline.IsZero() && at.After(w.deadline) {
		l.calls.remove(w)
		w.refused = l.refusal(now, at)
		w.ready()
		return
	}
	reason := petstore.WaitReason(l.pot.Scope)
	switch {
	case l.limit.background:
		reason = petstore.WaitBackground
	case reason == "":
		reason = petstore.WaitMinute
	}
	l.tell(w, petstore.Wait{Reason: reason, Until: at})
}

// tell has w report, once, what it waits for.
func (l *Limiter) tell(w *waiter, wait petstore.Wait) {
	if !w.told {
		wait.Waiting = l.calls.len()
		w.told, w.tell = true, &wait
		w.ready()
	}
}

// refusal returns the error of a call that would have to wait until at.
func (l *Limiter) refusal(now, at time.Time) *petstore.RateLimitError {
	e := &petstore.RateLimitError{RateLimit: l.shown}
	if now.Before(l.until) {
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
