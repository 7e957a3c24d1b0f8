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

// ticket is one request in a limiter, from Acquire to Release: it waits in its queue. Once
// admitted, it is the permit. The lock of the limiter guards it.
type ticket struct {
	ratelimit.Request
	queue  *queue
	class  int            // its index in waiters and holds: 1 for background requests, else 0
	latest time.Time      // until when it may wait for a limit, by MaxWait and its deadline
	news   chan struct{}  // gets a value when await must look again
	wait   ratelimit.Wait // as it was reported; zero if it was not

	admitted   bool // and not released
	admittedAt time.Time
	outcome    outcome          // the numbers of its permit; settle adds the outcome
	fallback   ratelimit.Permit // the permit of the fallback; nil with one of the pot
}

// Acquire implements [petstore.Limiter]. A request that need not wait costs one command. The lock
// is held except while the request sleeps, and while its observer is told.
func (l *Limiter) Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q, entered := l.queue(r.Key), l.now()
	if r.Asked.IsZero() {
		r.Asked = entered
	}
	t := &ticket{Request: r, queue: q, latest: entered.Add(max(0, r.MaxWait)), news: make(chan struct{}, 1)}
	if deadline, ok := ctx.Deadline(); ok {
		t.latest = earlier(t.latest, deadline)
	}
	if r.Background {
		t.class = 1
	}
	q.users++
	refused := t.await(ctx)
	if refused != nil {
		t.withdraw()
	}
	if t.wait.Reason != "" {
		t.wait.Duration = l.now().Sub(entered)
		t.wait.Window = q.window
		t.wait.Sent = int(q.granted)
		t.wait.Processes = q.processes()
		t.notify(func(o ratelimit.Observer) { o.WaitDone(t.wait) })
	}
	if refused == nil {
		return t, nil
	}
	if refused.Reason != "" && refused.Err == nil {
		t.notify(q.close(refused.Reason, l.now(), refused.RetryAt))
	}
	return nil, refused
}

// report is news for an observer; nil if there is none.
type report func(ratelimit.Observer)

// notify makes a report to the observer of t, without the lock: the observer may use the limiter.
func (t *ticket) notify(r report) {
	if r != nil && t.Observer != nil {
		t.queue.l.unlocked(func() { r(t.Observer) })
	}
}

// await waits until t is admitted, or returns why it is refused.
func (t *ticket) await(ctx context.Context) *ratelimit.Error {
	for q := t.queue; ; {
		now, ended := q.l.now(), contextError(ctx)
		h, left := t.hold(now), t.latest.Add(patience).Sub(now)
		switch {
		case ended != nil, !t.admitted && (left <= 0 || h.until.After(t.latest)):
			refused := &ratelimit.Error{RetryAt: h.until, Window: q.window, Err: ended}
			if slices.Contains(limits, h.reason) {
				refused.Reason = h.reason
			}
			return refused
		case t.admitted:
			return nil
		case h.reason != "" && t.wait.Reason == "":
			t.reportWait(h)
		case t.NotBefore.After(now):
			q.l.sleep(ctx, t.news, t.NotBefore.Sub(now))
		default:
			q.join(t)
			q.step(now)
			q.l.sleep(ctx, t.news, left)
		}
	}
}

// hold returns what t waits for; zero if that is not known.
func (t *ticket) hold(now time.Time) (h hold) {
	if known := t.queue.holds[t.class]; known.lasts(now) {
		h = known
	}
	if t.NotBefore.After(now) && t.NotBefore.After(h.until) {
		if h.until.IsZero() {
			h.reason = ratelimit.ReasonBackoff
		}
		h.until = t.NotBefore
	}
	return h
}

// reportWait reports that t waits. It releases the lock meanwhile.
func (t *ticket) reportWait(h hold) {
	if t.Background && h.reason == ratelimit.ReasonMinute {
		h.reason = ratelimit.ReasonBackground
	}
	waiting := len(t.queue.waiters[0]) + len(t.queue.waiters[1])
	if !slices.Contains(t.queue.waiters[t.class], t) {
		waiting++ // it joins after its report
	}
	t.wait = ratelimit.Wait{Reason: h.reason, Until: h.until, Waiting: waiting}
	t.notify(func(o ratelimit.Observer) { o.WaitStart(t.wait) })
}

// signal wakes await.
func (t *ticket) signal() {
	select {
	case t.news <- struct{}{}:
	default:
	}
}

// withdraw ends the wait of a request that is refused. It may have been admitted meanwhile.
func (t *ticket) withdraw() {
	q, now := t.queue, t.queue.l.now()
	q.users--
	q.waiters[t.class] = slices.DeleteFunc(q.waiters[t.class], func(w *ticket) bool { return w == t })
	if t.admitted {
		q.settle(t, ratelimit.Outcome{}, now)
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
