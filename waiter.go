package petstore

import (
	"container/list"
	"context"
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

// waiter is a call in a queue.
type waiter struct {
	queue      *keyQueue
	ticket     uint64
	background bool
	maxWait    time.Duration // longest wait for limits
	deadline   time.Time     // of the context; zero if it has none
	entered    time.Time
	clock      time.Duration // queue.clock when the waiter entered
	free       time.Duration // set at the end: time waited for responses, not for limits
	wait       Wait          // as it is reported

	place   *list.Element // nil once permit or refused is set
	permit  *permit
	refused *RateLimitError
	ready   chan struct{} // closed when permit or refused is set
}

func (w *waiter) class() int {
	if w.background {
		return background
	}
	return foreground
}

// reason returns what w waits for.
func (w *waiter) reason() WaitReason {
	if w.background && w.queue.why.Reason == quota.Reason(quota.Minute) {
		return WaitBackground
	}
	return WaitReason(w.queue.why.Reason)
}

// await waits until w has a permit or is refused, its context ends, or maxWait is used up.
func (w *waiter) await(ctx context.Context) (*permit, error) {
	for {
		if done, p, err := w.awaitEvent(ctx); done {
			return p, err
		}
	}
}

// awaitEvent waits for the first of these events, and reports whether it ends the wait of w.
func (w *waiter) awaitEvent(ctx context.Context) (done bool, _ *permit, _ error) {
	q := w.queue
	var timeout <-chan time.Time
	if left := w.left(); left > 0 { // else block refuses w as soon as a limit is the reason
		timer := time.NewTimer(left)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-w.ready:
	case <-timeout:
	case <-ctx.Done():
	}
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	now := time.Now()
	q.dispatch(now) // the wait may be over at the same time as maxWait
	spent := q.clock(now) - w.clock
	w.free = now.Sub(w.entered) - spent
	if end := endOf(ctx); end != nil { // even if the permit came at the same time
		q.withdraw(w, now)
		return true, nil, q.ended(now, end, true)
	}
	switch {
	case w.permit != nil:
		return true, w.permit, nil
	case w.refused != nil:
		return true, nil, w.refused
	case spent < w.maxWait, q.since.IsZero(): // else it waits for a response, which is free
		return false, nil, nil
	}
	q.withdraw(w, now)
	return true, nil, q.refusal(now, q.earliest(now, w, 0))
}

// left returns how long w may still wait for limits.
func (w *waiter) left() time.Duration {
	w.queue.limiter.mu.Lock()
	defer w.queue.limiter.mu.Unlock()
	return w.maxWait - (w.queue.clock(time.Now()) - w.clock)
}

// late reports whether w cannot wait until at. Each window after the next one may begin up to a
// second late, the grain of Reset: 1/60 of the time that at is after the next one.
func (w *waiter) late(now, at time.Time) bool {
	if !at.After(now) {
		return false // as far as known, w need not wait for a limit
	}
	at = at.Add(at.Sub(w.queue.earliest(now, w, 0)) / 60)
	spent := w.queue.clock(now) - w.clock
	return at.Sub(now) > w.maxWait-spent || !w.deadline.IsZero() && at.After(w.deadline)
}
