package petstoreredis

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// newFallback returns a limiter that takes the place of the pot while Redis is away. It is told
// what the process knows, by a response as the service would send it now if its limit were one
// share of the real one, for this process alone.
func (q *queue) newFallback(now time.Time) *ratelimit.Limiter {
	w := q.known(now)
	o := ratelimit.Outcome{Sent: now, Received: now, StatusCode: http.StatusOK, Window: w}
	o.Date = w.Reset.Add(time.Second - q.windowEnd.Sub(now)).Truncate(time.Second)
	if q.closedUntil.After(now) {
		o.StatusCode, o.RetryAfter = http.StatusTooManyRequests, q.closedUntil.Sub(now)
	} else if w.Limit == 0 {
		return ratelimit.New()
	}
	limiter, _ := interpret(q.key, q.shareOf(o))
	return limiter
}

// shareOf returns an outcome with this process's share of the window in place of the window.
func (q *queue) shareOf(o ratelimit.Outcome) ratelimit.Outcome {
	if w := &o.Window; w.Limit > 0 {
		w.Limit = max(1, w.Limit/q.processes())
		w.Remaining = min(w.Remaining, max(0, w.Limit-int(q.granted)))
	}
	return o
}

// askFallback asks for the permit of the first request of a class. The limiter refuses it at once
// if a limit is used up, and otherwise after a second at most.
func (q *queue) askFallback(class int) {
	limiter := q.fallback
	q.askingFallback = true
	go func() {
		p, err := limiter.Acquire(context.Background(), ratelimit.Request{Key: q.key, Background: class == 1})
		refused, _ := errors.AsType[*ratelimit.Error](err)
		q.l.mu.Lock()
		defer q.l.mu.Unlock()
		now, away := q.l.now(), q.fallback == limiter
		q.askingFallback = false
		switch {
		case err == nil && away && len(q.waiters[class]) > 0:
			q.admit(class, 0, p, now)
		case err == nil:
			p.Release(ratelimit.Outcome{})
		case away && refused.Reason == "":
			q.holds[class] = hold{reason: ratelimit.ReasonResponse, askAt: now.Add(reportAfter)}
		case away:
			q.holds[class] = closedFor(refused.Reason, now, refused.RetryAt)
		}
		q.signal()
		q.step(now)
	}()
}
