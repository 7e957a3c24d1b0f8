package petstoreredis

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// alone is how a queue goes on while Redis is away: with a limiter to which the service seems to
// have, for this process alone, a limit that is one share of the real one.
type alone struct {
	limiter *ratelimit.Limiter
	err     error           // of the last command
	ctx     context.Context // ends when Redis is back
	end     context.CancelFunc
}

// fail makes the process go on alone, and tries Redis again in a second. Redis may have counted the
// outcomes of the command that has failed: their permits count until their window is over.
func (q *queue) fail(err error, now time.Time) {
	if q.alone == nil {
		q.alone = q.newAlone(now)
		for class, waiters := range q.waiters {
			for _, w := range waiters {
				w.joined = false
				w.signal()
			}
			q.waiters[class], q.holds[class] = nil, hold{}
		}
	}
	q.alone.err, q.reportAt = err, now.Add(tryEvery)
}

// newAlone tells a new limiter what the process knows, by a response as the service would send it
// now.
func (q *queue) newAlone(now time.Time) *alone {
	a := &alone{limiter: ratelimit.New()}
	a.ctx, a.end = context.WithCancel(context.Background())
	o := ratelimit.Outcome{Sent: now, Received: now, StatusCode: http.StatusOK, Window: q.known(now)}
	if o.Window.Limit > 0 {
		o.Date = o.Window.Reset.Add(time.Second - q.end.Sub(now)).Truncate(time.Second)
	}
	if q.until.After(now) {
		o.StatusCode, o.RetryAfter = http.StatusTooManyRequests, q.until.Sub(now)
	}
	if o.Window.Limit > 0 || o.RetryAfter > 0 {
		if p, err := a.limiter.Acquire(a.ctx, ratelimit.Request{Key: q.key}); err == nil {
			p.Release(q.shareOf(o))
		}
	}
	return a
}

// shareOf returns an outcome with this process's share of the window in place of the window.
func (q *queue) shareOf(o ratelimit.Outcome) ratelimit.Outcome {
	if w := &o.Window; w.Limit > 0 {
		w.Limit = max(1, w.Limit/q.processes())
		w.Remaining = min(w.Remaining, max(0, w.Limit-int(q.had)))
	}
	return o
}

// acquireAlone waits for a permit without Redis, until Redis is back. It returns nil if w must look
// again.
func (w *waiter) acquireAlone(ctx context.Context, a *alone) (refused *ratelimit.Error) {
	r, q := w.Request, w.queue
	r.MaxWait, r.Observer = max(0, time.Until(w.last)-patience), waitStart{w}
	var p ratelimit.Permit
	var err error
	q.l.unlocked(func() {
		ctx, cancel := context.WithDeadline(ctx, w.last)
		defer cancel()
		defer context.AfterFunc(a.ctx, cancel)()
		p, err = a.limiter.Acquire(ctx, r)
	})
	if err == nil {
		w.permit = &permit{queue: q, number: q.pot.Number, given: q.l.now(), alone: p}
		return nil
	}
	refused, _ = errors.AsType[*ratelimit.Error](err)
	if a.ctx.Err() != nil || ctx.Err() != nil {
		return nil
	}
	refused.Window, refused.Err = q.window, nil
	return refused
}

// waitStart reports the beginning of a wait without Redis. The rest is reported as with Redis.
type waitStart struct{ w *waiter }

func (o waitStart) WaitStart(wait ratelimit.Wait) {
	o.w.queue.l.mu.Lock()
	defer o.w.queue.l.mu.Unlock()
	o.w.report(wait)
}
func (waitStart) WaitDone(ratelimit.Wait)       {}
func (waitStart) LimitClosed(ratelimit.Lockout) {}
func (waitStart) LimitOpened(ratelimit.Lockout) {}
