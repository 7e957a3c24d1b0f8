package petstoreredis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// patience is how much longer than MaxWait a request may be in Acquire, whatever it waits for.
const patience = time.Second

// waiter is a request in Acquire. The lock of the limiter guards it.
type waiter struct {
	ratelimit.Request
	queue  *queue
	class  int            // the index of what the queue has for such requests: 1 for background requests
	latest time.Time      // it is refused at once if a limit lasts longer,
	last   time.Time      // and at this time in any case
	news   chan struct{}  // gets a value when there is something to look at
	joined bool           // it is among the waiters of its queue
	wait   ratelimit.Wait // that was reported; zero if none was
	permit *permit
}

// Acquire implements [petstore.Limiter]. A request that need not wait takes one command. The lock is
// held except while the request sleeps, and while functions of others are called.
func (l *Limiter) Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entered, q := time.Now(), l.queue(r.Key)
	if r.Asked.IsZero() {
		r.Asked = entered
	}
	last := entered.Add(max(0, r.MaxWait))
	w := &waiter{Request: r, queue: q, latest: last, last: last.Add(patience), news: make(chan struct{}, 1)}
	if deadline, ok := ctx.Deadline(); ok {
		w.latest = earlier(last, deadline)
	}
	if r.Background {
		w.class = 1
	}
	q.users++
	defer w.leave() // also if the observer panics
	refused := w.await(ctx)
	if w.wait.Reason != "" && r.Observer != nil {
		w.wait.Duration = time.Since(entered)
		w.wait.Window, w.wait.Sent, w.wait.Processes = q.window, int(q.had), q.processes()
		l.unlocked(func() { r.Observer.WaitDone(w.wait) })
	}
	if refused != nil {
		if refused.Reason != "" && refused.Err == nil {
			closed := q.close(refused.Reason, l.now(), refused.RetryAt)
			l.tell(r.Observer, nil, closed)
		}
		return nil, refused
	}
	p := w.permit
	w.permit, p.observer = nil, r.Observer
	q.users++ // until it is released
	return p, nil
}

// await waits until w has a permit, or returns why it gets none.
func (w *waiter) await(ctx context.Context) *ratelimit.Error {
	for q := w.queue; ; {
		now, ended := q.l.now(), contextError(ctx)
		h := w.hold(now)
		switch {
		case ended != nil, w.permit == nil && (time.Until(w.last) <= 0 || h.until.After(w.latest)):
			refused := &ratelimit.Error{RetryAt: h.until, Window: q.window, Err: ended}
			if slices.Contains(limits, h.why) {
				refused.Reason = h.why
			}
			return refused
		case w.permit != nil:
			return nil
		case h.why != "" && w.wait.Reason == "":
			w.report(ratelimit.Wait{Reason: h.why, Until: h.until})
		case w.NotBefore.After(now):
			w.sleep(ctx, w.NotBefore)
		case q.alone != nil:
			q.step(now)
			if refused := w.acquireAlone(ctx, q.alone); refused != nil {
				return refused
			}
		default:
			q.join(w)
			q.step(now)
			w.sleep(ctx, w.last)
		}
	}
}

// hold returns what w waits for; zero if that is not known.
func (w *waiter) hold(now time.Time) (h hold) {
	if known := w.queue.holds[w.class]; known.holds(now) {
		h = known
	}
	if w.NotBefore.After(now) {
		if h.until.IsZero() {
			h.why = ratelimit.ReasonBackoff
		}
		h.until = later(h.until, w.NotBefore)
	}
	return h
}

// report reports the wait, once.
func (w *waiter) report(wait ratelimit.Wait) {
	if w.wait.Reason != "" {
		return
	}
	if w.Background && wait.Reason == ratelimit.ReasonMinute {
		wait.Reason = ratelimit.ReasonBackground
	}
	wait.Waiting = max(1, len(w.queue.waiters[0])+len(w.queue.waiters[1]))
	if w.wait = wait; w.Observer != nil {
		w.queue.l.unlocked(func() { w.Observer.WaitStart(wait) })
	}
}

// sleep waits until there is news, or until the time.
func (w *waiter) sleep(ctx context.Context, until time.Time) {
	w.queue.l.unlocked(func() {
		timer := time.NewTimer(min(time.Until(until), time.Until(w.last), longestNap))
		defer timer.Stop()
		select {
		case <-w.news:
		case <-timer.C:
		case <-ctx.Done():
		}
	})
}

// signal makes w look again.
func (w *waiter) signal() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// leave ends the wait, and gives back a permit that the caller did not get.
func (w *waiter) leave() {
	q, now := w.queue, w.queue.l.now()
	q.users--
	if w.joined {
		waiters := &q.waiters[w.class]
		i := slices.Index(*waiters, w)
		*waiters = slices.Delete(*waiters, i, i+1)
	}
	if w.permit != nil {
		q.settle(w.permit, ratelimit.Outcome{}, now)
	}
	q.step(now)
}

// contextError returns an error that matches the error and the cause of a context that has ended.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
