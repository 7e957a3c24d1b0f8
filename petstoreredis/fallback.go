package petstoreredis

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// fallback takes the place of the pot while Redis is away. Its limiter sees a service whose limit is
// one share of the real one, for this process alone.
type fallback struct {
	limiter *ratelimit.Limiter
	asking  bool // it is asked for a permit now
}

// newFallback tells a new limiter what the process knows, by a response as the service would send it
// now.
func (q *queue) newFallback(now time.Time) *fallback {
	w := q.known(now)
	o := ratelimit.Outcome{Sent: now, Received: now, StatusCode: http.StatusOK, Window: w}
	o.Date = w.Reset.Add(time.Second - q.end.Sub(now)).Truncate(time.Second)
	if q.until.After(now) {
		o.StatusCode, o.RetryAfter = http.StatusTooManyRequests, q.until.Sub(now)
	} else if w.Limit == 0 {
		return &fallback{limiter: ratelimit.New()}
	}
	limiter, _ := interpret(q.key, q.shareOf(o))
	return &fallback{limiter: limiter}
}

// shareOf returns an outcome with this process's share of the window in place of the window.
func (q *queue) shareOf(o ratelimit.Outcome) ratelimit.Outcome {
	if w := &o.Window; w.Limit > 0 {
		w.Limit = max(1, w.Limit/q.processes())
		w.Remaining = min(w.Remaining, max(0, w.Limit-int(q.granted)))
	}
	return o
}

// askFallback asks for the permit of the first request of a class. The limiter refuses it at once if a
// limit is used up, and otherwise after a second at most.
func (q *queue) askFallback(class int) {
	a := q.fallback
	a.asking = true
	go func() {
		p, err := a.limiter.Acquire(context.Background(), ratelimit.Request{Key: q.key, Background: class == 1})
		q.l.mu.Lock()
		defer q.l.mu.Unlock()
		now := q.l.now()
		a.asking = false
		switch refused, _ := errors.AsType[*ratelimit.Error](err); {
		case err == nil && q.fallback == a && len(q.waiters[class]) > 0:
			q.admit(class, 0, p, now)
		case err == nil:
			p.Release(ratelimit.Outcome{})
		case q.fallback == a && refused.Reason == "":
			q.holds[class] = hold{ratelimit.ReasonResponse, time.Time{}, now.Add(reportAfter)}
		case q.fallback == a:
			q.holds[class] = closedFor(refused.Reason, now, refused.RetryAt)
		}
		q.signal()
		q.step(now)
	}()
}
