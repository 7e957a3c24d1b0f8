package petstoreredis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

const (
	// patience is how much longer than MaxWait a request may be in Acquire, whatever it waits for.
	patience = time.Second
	// longestMaxWait keeps times within what time.Duration can hold.
	longestMaxWait = 10_000 * time.Hour
)

// waiter is a request in Acquire. The lock of the limiter guards it.
type waiter struct {
	ratelimit.Request
	queue   *queue
	entered time.Time
	latest  time.Time     // it is refused at once if a limit lasts longer,
	last    time.Time     // and at this time in any case
	news    chan struct{} // gets a value when there is something to look at
	joined  bool          // it is among the waiters of its queue
	started bool          // its wait was reported
	wait    ratelimit.Wait
	permit  *permit
}

// Acquire implements [petstore.Limiter]. A request that need not wait takes one command. The lock is
// held except while the request sleeps, and while functions of others are called.
func (l *Limiter) Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.newWaiter(ctx, r)
	q := w.queue
	q.users++
	defer w.leave() // also if the observer panics
	refused := w.await(ctx)
	if w.started && r.Observer != nil {
		w.wait.Duration = time.Since(w.entered)
		w.wait.Window, w.wait.Sent, w.wait.Processes = q.window, int(q.had), q.processes()
		l.unlocked(func() { r.Observer.WaitDone(w.wait) })
	}
	if refused != nil {
		if refused.Reason != "" && refused.Err == nil {
			closed := q.close(refused.Reason, l.clock(), refused.RetryAt)
			l.tell(r.Observer, nil, closed)
		}
		return nil, refused
	}
	p := w.permit
	w.permit, p.observer = nil, r.Observer
	q.users++ // until it is released
	return p, nil
}

// unlocked calls a function of others without the lock.
func (l *Limiter) unlocked(f func()) {
	l.mu.Unlock()
	defer l.mu.Lock()
	f()
}

func (l *Limiter) newWaiter(ctx context.Context, r ratelimit.Request) *waiter {
	now, most := time.Now(), min(max(0, r.MaxWait), longestMaxWait)
	if r.Asked.IsZero() {
		r.Asked = now
	}
	deadline, _ := ctx.Deadline()
	return &waiter{
		Request: r, queue: l.queue(r.Key), news: make(chan struct{}, 1),
		entered: now, latest: earlier(now.Add(most), deadline), last: now.Add(most + patience),
	}
}

// await waits until w has a permit, or returns why it gets none.
func (w *waiter) await(ctx context.Context) *ratelimit.Error {
	for q := w.queue; ; {
		now, ended := q.l.clock(), contextError(ctx)
		h := w.hold(now)
		switch {
		case ended != nil, w.permit == nil && (time.Until(w.last) <= 0 || h.until.After(w.latest)):
			return &ratelimit.Error{RetryAt: h.until, Window: q.window, Reason: h.limit(), Err: ended}
		case w.permit != nil:
			return nil
		case h.why != "" && !w.started:
			waiting := len(q.waiters[0]) + len(q.waiters[1])
			w.report(ratelimit.Wait{Reason: h.why, Until: h.until, Waiting: max(1, waiting)})
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
	if h = w.queue.holds[w.class()]; !h.askAt.After(now) {
		h = hold{}
	}
	if w.Background && h.why == ratelimit.ReasonMinute {
		h.why = ratelimit.ReasonBackground
	}
	if w.NotBefore.After(now) {
		if h.until.IsZero() {
			h.why = ratelimit.ReasonBackoff
		}
		h.until = later(h.until, w.NotBefore)
	}
	return h
}

// class is the index of what is kept for background requests and for others.
func (w *waiter) class() int {
	if w.Background {
		return 1
	}
	return 0
}

// report reports the wait, once.
func (w *waiter) report(wait ratelimit.Wait) {
	if w.started {
		return
	}
	if w.started, w.wait = true, wait; w.Observer != nil {
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
	q, now := w.queue, w.queue.l.clock()
	q.users--
	if w.joined {
		waiters := &q.waiters[w.class()]
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
