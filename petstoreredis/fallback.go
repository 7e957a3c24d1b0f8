package petstoreredis

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// fallback is a limiter that takes the place of the pot while Redis is away.
type fallback struct {
	*ratelimit.Limiter
	err        error // of the last command
	firstShare int   // its share of the window in which Redis began to fail; 0 once this window is over
}

// beginFallback makes the limiter that gives permits while Redis is away. This limiter has seen one
// response, made from what the process knows. The limit in it is this process's share.
func (q *queue) beginFallback(now time.Time) {
	w, n := q.openWindow(now), q.shares()
	q.fallback = &fallback{Limiter: ratelimit.New()}
	q.obstacles = [2]obstacle{}
	o := ratelimit.Outcome{Sent: now, Received: now, StatusCode: http.StatusOK}
	if w.Limit > 0 {
		q.fallback.firstShare = min(w.Limit/n, q.used+(w.Remaining+n-1)/n)
		o.Window = q.shareOf(w)
		// With this Date, the window ends at windowEnd: package ratelimit adds a second to Reset.
		o.Date = w.Reset.Add(time.Second - q.windowEnd.Sub(now))
	}
	if q.closedUntil.After(now) {
		o.StatusCode, o.RetryAfter = http.StatusTooManyRequests, q.closedUntil.Sub(now)
	} else if w.Limit == 0 {
		return
	}
	p, _ := q.fallback.TryAcquire(ratelimit.Request{Key: q.key}) // a new limiter admits the first request
	p.Release(o)
}

// shareOf returns what the process may use of a window while Redis is away: its share or, in the
// window in which Redis began to fail, no more than a share of what that window had left then.
//
// For example, three processes share 60 requests a minute, 20 each. This process has used 5, and
// the window has 9 left, which are 3 for each process. Then it may use 5+3 = 8 requests of this
// window, and 20 of the next one.
func (q *queue) shareOf(w ratelimit.Window) ratelimit.Window {
	if w.Limit > 0 {
		w.Limit = cmp.Or(q.fallback.firstShare, max(1, w.Limit/q.shares()))
		w.Remaining = min(w.Remaining, max(0, w.Limit-q.used))
	}
	return w
}

// askFallback gives as many permits as the fallback allows. The others wait until the limit of
// the fallback ends. If they wait for a response, the fallback is asked again soon.
func (q *queue) askFallback(now time.Time) {
	for class := range q.waiters {
		for len(q.waiters[class]) > 0 {
			why := q.obstacles[class]
			if why.reason != ratelimit.ReasonResponse && why.lasts(now) {
				break // a limit lasts; if the wait is for a response, each step asks again
			}
			p, err := q.fallback.TryAcquire(ratelimit.Request{Key: q.key, Background: class == 1})
			if refused, ok := errors.AsType[*ratelimit.Error](err); ok {
				why = limitUntil(refused.Reason, now, refused.RetryAt)
				if refused.Reason == "" {
					why = obstacle{reason: ratelimit.ReasonResponse, askAt: now.Add(pollEvery)}
				}
				q.obstacles[class] = why
				q.wakeWaiters()
				break
			}
			// The response counts as one to the last permit of the pot, which has this number.
			// Without an Epoch, the pot does not settle a permit in flight for it.
			q.give(class, &permit{given: now, outcome: outcome{Number: q.pot.Number}, fallback: p})
		}
	}
}
