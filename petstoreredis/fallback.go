package petstoreredis

import (
	"errors"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// fallback is a limiter that takes the place of the pot while Redis is away.
type fallback struct {
	*ratelimit.Limiter
	since time.Time
	err   error // of the last command
}

// newFallback returns a limiter that takes the place of the pot. It has seen one response, made
// from what the process knows. Its limit is this process's share.
func (q *queue) newFallback(now time.Time) *fallback {
	l, w, n := &fallback{Limiter: ratelimit.New(), since: now}, q.known(now), q.processes()
	q.share.setTakenByOthers(w, n)
	o := ratelimit.Outcome{Sent: now, Received: now, StatusCode: http.StatusOK, Window: q.share.of(w, n)}
	if w.Limit > 0 { // with this Date, the window of the response ends at windowEnd
		o.Date = w.Reset.Add(time.Second - q.windowEnd.Sub(now))
	}
	if q.closedUntil.After(now) {
		o.StatusCode, o.RetryAfter = http.StatusTooManyRequests, q.closedUntil.Sub(now)
	} else if w.Limit == 0 {
		return l
	}
	p, _ := l.TryAcquire(ratelimit.Request{Key: q.key}) // a new limiter admits the first request
	p.Release(o)
	return l
}

// askFallback admits as many requests as the fallback allows. The others wait until the limit of
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
				q.signal()
				break
			}
			// The response counts as one to the last permit of the pot, which has this number.
			// Without an Epoch, the pot does not settle a permit in flight for it.
			q.admit(class, potOutcome{Number: q.pot.Number}, p, now)
		}
	}
}
