package petstoreredis

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// newFallback returns a limiter that takes the place of the pot. It has seen one response, made
// from what the process knows. The limit in it is one share, as if this process used the key alone;
// less, if others had used more than theirs: then what is left in the window is shared.
func (q *queue) newFallback(now time.Time) *ratelimit.Limiter {
	w, n := q.known(now), q.processes()
	q.taken = max(0, w.Limit/n-int(q.granted)-(w.Remaining+n-1)/n)
	o := ratelimit.Outcome{Sent: now, Received: now, StatusCode: http.StatusOK, Window: w}
	o.Date = w.Reset.Add(time.Second - q.windowEnd.Sub(now)).Truncate(time.Second)
	if q.closedUntil.After(now) {
		o.StatusCode, o.RetryAfter = http.StatusTooManyRequests, q.closedUntil.Sub(now)
	} else if w.Limit == 0 {
		return ratelimit.New()
	}
	limiter, _ := interpret(q.key, q.shareOf(o), 0)
	return limiter
}

// shareOf returns an outcome with this process's share of the window in place of the window.
func (q *queue) shareOf(o ratelimit.Outcome) ratelimit.Outcome {
	if w := &o.Window; w.Limit > 0 {
		w.Limit = max(1, w.Limit/q.processes()-q.taken)
		w.Remaining = min(w.Remaining, max(0, w.Limit-int(q.granted)))
	}
	return o
}

// askFallback admits as many requests as the fallback allows. The others wait until its limit ends.
// If they have to wait for a response, the fallback is asked again soon.
func (q *queue) askFallback(now time.Time) {
	for class := range q.waiters {
		for len(q.waiters[class]) > 0 {
			h := q.holds[class]
			if h.reason != ratelimit.ReasonResponse && h.lasts(now) {
				break // while it waits for a response, each step asks again
			}
			p, refused := q.acquireNow(class)
			if refused != nil {
				q.holds[class] = closedFor(refused.Reason, now, refused.RetryAt)
				if refused.Reason == "" {
					q.holds[class] = hold{reason: ratelimit.ReasonResponse, askAt: now.Add(pollEvery)}
				}
				q.signal()
				break
			}
			q.admit(class, outcome{Number: q.pot.Number}, p, now)
		}
	}
}

// acquireNow returns a permit of the fallback, or why a request would have to wait for it. It must
// not wait, because the lock is held.
func (q *queue) acquireNow(class int) (ratelimit.Permit, *ratelimit.Error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := ratelimit.Request{Key: q.key, Background: class == 1, Observer: impatient{cancel}}
	p, err := q.fallback.Acquire(ctx, r)
	refused, _ := errors.AsType[*ratelimit.Error](err)
	return p, refused
}

// impatient is an observer that ends a wait when it begins.
type impatient struct{ cancel context.CancelFunc }

func (i impatient) WaitStart(ratelimit.Wait)    { i.cancel() }
func (impatient) WaitDone(ratelimit.Wait)       {}
func (impatient) LimitClosed(ratelimit.Lockout) {}
func (impatient) LimitOpened(ratelimit.Lockout) {}
