package petstoreredis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// extraWait is how much longer than MaxWait a request may be in Acquire, as in package ratelimit.
const extraWait = time.Second

// waiter is a request in Acquire, until it gets a permit or is refused. It joins its queue once its
// NotBefore has passed, and the start of its wait was reported. The lock of the limiter guards it.
type waiter struct {
	ratelimit.Request
	queue  *queue
	class  int            // its index in waiters and obstacles: 1 for background requests, else 0
	latest time.Time      // until when it may wait for a limit, by MaxWait and its deadline
	woken  chan struct{}  // gets a value when waitForDecision must look again
	wait   ratelimit.Wait // the wait that was reported; zero if none was
	permit *permit        // nil until it gets one
}

// Acquire implements [petstore.Limiter]. A request that need not wait costs one command. Acquire
// holds the lock, except while the request sleeps and while an observer gets a report.
func (l *Limiter) Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q, entered := l.queue(r.Key), l.now()
	w := q.newWaiter(ctx, entered, r)
	refused := w.waitForDecision(ctx)
	if refused != nil {
		w.leave()
	}
	if w.wait.Reason != "" {
		w.wait.Duration = l.now().Sub(entered)
		report(func(o ratelimit.Observer) { o.WaitDone(w.wait) }).to(r.Observer, l)
	}
	if refused == nil {
		return w.permit, nil
	}
	if refused.Reason != "" && refused.Err == nil {
		q.reportClosed(l.now(), refused.Reason, refused.RetryAt).to(r.Observer, l)
	}
	return nil, refused
}

func (q *queue) newWaiter(ctx context.Context, now time.Time, r ratelimit.Request) *waiter {
	deadline, _ := ctx.Deadline()
	latest := earlier(now.Add(max(0, r.MaxWait)), deadline)
	w := &waiter{Request: r, queue: q, latest: latest, woken: make(chan struct{}, 1)}
	if r.Asked.IsZero() {
		w.Asked = now
	}
	if r.Background {
		w.class = 1
	}
	return w
}

// waitForDecision waits until w gets a permit, or returns why it is refused.
func (w *waiter) waitForDecision(ctx context.Context) *ratelimit.Error {
	q := w.queue
	for {
		now, ended := q.l.now(), contextError(ctx)
		why, left := w.obstacle(now), w.latest.Add(extraWait).Sub(now)
		switch {
		case ended != nil, w.permit == nil && (left <= 0 || why.until.After(w.latest)):
			return q.refusal(why, ended)
		case w.permit != nil:
			return nil
		case why.reason != "" && w.wait.Reason == "":
			w.reportWait(why)
		case w.NotBefore.After(now):
			q.l.sleep(ctx, w.woken, w.NotBefore.Sub(now))
		default:
			q.join(w)
			q.step(now)
			q.l.sleep(ctx, w.woken, left)
		}
	}
}

// refusal returns the error of a request that would have had to wait, or whose context has ended.
func (q *queue) refusal(why obstacle, ended error) *ratelimit.Error {
	refused := &ratelimit.Error{RetryAt: why.until, Window: q.window, Err: ended}
	if slices.Contains(limits, why.reason) {
		refused.Reason = why.reason
	} else if ended != nil {
		refused.RetryAt = time.Time{} // the end of a pause says nothing about the key
	}
	return refused
}

// obstacle returns what w waits for; zero if that is not known.
func (w *waiter) obstacle(now time.Time) (why obstacle) {
	if known := w.queue.obstacles[w.class]; known.lasts(now) {
		why = known
	}
	if w.NotBefore.After(now) && w.NotBefore.After(why.until) {
		if why.until.IsZero() {
			why.reason = ratelimit.ReasonBackoff
		}
		why.until = w.NotBefore
	}
	return why
}

// reportWait reports that w waits. It releases the lock meanwhile.
func (w *waiter) reportWait(why obstacle) {
	if w.Background && why.reason == ratelimit.ReasonMinute {
		why.reason = ratelimit.ReasonBackground
	}
	want := w.queue.want()
	waiting := want[0] + want[1]
	if !slices.Contains(w.queue.waiters[w.class], w) {
		waiting++ // it joins after its report
	}
	w.wait = ratelimit.Wait{Reason: why.reason, Until: why.until, Waiting: waiting}
	report(func(o ratelimit.Observer) { o.WaitStart(w.wait) }).to(w.Observer, w.queue.l)
}

// wake wakes waitForDecision.
func (w *waiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// leave takes a refused w out of the queue. If w got a permit meanwhile, leave gives it back.
func (w *waiter) leave() {
	q, now := w.queue, w.queue.l.now()
	q.waiters[w.class] = slices.DeleteFunc(q.waiters[w.class], func(other *waiter) bool { return other == w })
	if w.permit != nil {
		q.takeOutcome(w.permit, ratelimit.Outcome{}, now)
	}
	q.step(now)
}

// contextError has a twin in ratelimit. It returns an error that matches the error and the cause of
// a context that has ended.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
