package petstoreredis

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// alone takes the place of the pot while Redis is away. Its limiter sees a service whose limit is
// one share of the real one, for this process alone.
type alone struct {
	limiter *ratelimit.Limiter
	asking  bool // it is asked for a permit now
}

// newAlone tells a new limiter what the process knows, by a response as the service would send it
// now.
func (q *queue) newAlone(now time.Time) *alone {
	w := q.known(now)
	o := ratelimit.Outcome{Sent: now, Received: now, StatusCode: http.StatusOK, Window: w}
	o.Date = w.Reset.Add(time.Second - q.end.Sub(now)).Truncate(time.Second)
	if q.until.After(now) {
		o.StatusCode, o.RetryAfter = http.StatusTooManyRequests, q.until.Sub(now)
	} else if w.Limit == 0 {
		return &alone{limiter: ratelimit.New()}
	}
	limiter, _ := told(q.key, q.shareOf(o))
	return &alone{limiter: limiter}
}

// shareOf returns an outcome with this process's share of the window in place of the window.
func (q *queue) shareOf(o ratelimit.Outcome) ratelimit.Outcome {
	if w := &o.Window; w.Limit > 0 {
		w.Limit = max(1, w.Limit/q.processes())
		w.Remaining = min(w.Remaining, max(0, w.Limit-int(q.had)))
	}
	return o
}

// askAlone asks for the permit of the first request of a class. The limiter refuses it at once if a
// limit is used up, and otherwise after a second at most.
func (q *queue) askAlone(class int) {
	a := q.alone
	a.asking = true
	go func() {
		p, err := a.limiter.Acquire(context.Background(), ratelimit.Request{Key: q.key, Background: class == 1})
		q.l.mu.Lock()
		defer q.l.mu.Unlock()
		now := q.l.now()
		a.asking = false
		switch refused, _ := errors.AsType[*ratelimit.Error](err); {
		case err == nil && q.alone == a && len(q.waiters[class]) > 0:
			q.admit(class, 0, p, now)
		case err == nil:
			p.Release(ratelimit.Outcome{})
		case q.alone == a && refused.Reason == "":
			q.holds[class] = hold{ratelimit.ReasonResponse, time.Time{}, now.Add(reportAfter)}
		case q.alone == a:
			q.holds[class] = closedFor(refused.Reason, now, refused.RetryAt)
		}
		q.signal()
		q.step(now)
	}()
}
