package petstoreredis

import (
	"errors"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// newFallback returns a limiter that takes the place of the pot. It has seen one response, made
// from what the process knows. Its limit is this process's share. If others have used more than
// their shares, it is less, so that the process gets one share of what the window has left.
//
// For example, three processes share 60 requests a minute. This one has used 5 of its share of 20,
// and the window has 9 left, of which it gets 3. Then the others have taken 20-5-3 = 12 of its
// share, and the limit of the fallback is 20-12 = 8, of which 5 are used.
func (q *queue) newFallback(now time.Time) *ratelimit.Limiter {
	l, w, n := ratelimit.New(), q.known(now), q.processes()
	q.taken = max(0, w.Limit/n-int(q.shareUsed)-(w.Remaining+n-1)/n)
	o := ratelimit.Outcome{Sent: now, Received: now, StatusCode: http.StatusOK, Window: q.shareOf(w)}
	if w.Limit > 0 { // the time now by the server's clock: the window ends a second after its Reset
		o.Date = w.Reset.Add(time.Second - q.windowEnd.Sub(now))
	}
	if q.closedUntil.After(now) {
		o.StatusCode, o.RetryAfter = http.StatusTooManyRequests, q.closedUntil.Sub(now)
	} else if w.Limit == 0 {
		return l
	}
	p, _ := l.TryAcquire(ratelimit.Request{Key: q.key}) // a limiter that knows nothing refuses none
	p.Release(o)
	return l
}

// shareOf returns this process's share of a window.
func (q *queue) shareOf(w ratelimit.Window) ratelimit.Window {
	if w.Limit > 0 {
		w.Limit = max(1, w.Limit/q.processes()-q.taken)
		w.Remaining = min(w.Remaining, max(0, w.Limit-int(q.shareUsed)))
	}
	return w
}

// askFallback admits as many requests as the fallback allows. The others wait until its limit ends.
// If they have to wait for a response, the fallback is asked again soon.
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
			// Its response counts as one to the last permit of the pot. Without an Epoch, the pot
			// does not take it for one of those in flight.
			q.admit(class, outcome{Number: q.pot.Number}, p, now)
		}
	}
}
