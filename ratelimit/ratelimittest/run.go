// Package ratelimittest tests limiters, such as [ratelimit.Limiter]: whether they keep the requests
// of a client within the limit of a server. It can also test a limiter that several processes share
// through a file or a database.
//
// Most callers should use [Run], which needs no real time. A limiter with sockets or files does not
// work in a testing/synctest bubble; use [RunRealTime] for it.
package ratelimittest

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// Limiter has the methods of a limiter that a client calls. *[ratelimit.Limiter] implements it.
type Limiter interface {
	Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error)
	RateLimit(key string) ratelimit.Window
	Reopen(key string)
}

// Run tests the limiters that newLimiter returns, with one subtest for each rule. Each subtest runs
// in a testing/synctest bubble with a limiter of its own. newLimiter must return a limiter that
// knows nothing yet; it is called in the bubble, with the subtest's t, and may register a cleanup.
// Run must not be called in a bubble.
func Run(t *testing.T, newLimiter func(t *testing.T) Limiter) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r.check(&client{newLimiter(t), t, 50 * time.Millisecond})
			})
		})
	}
}

// RunRealTime is like [Run], but its subtests run in parallel, in real time. That takes some
// seconds.
func RunRealTime(t *testing.T, newLimiter func(t *testing.T) Limiter) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.check(&client{newLimiter(t), t, 300 * time.Millisecond})
		})
	}
}

// client uses a limiter as a client of a server does, and reports what the limiter does wrong.
type client struct {
	Limiter
	t     testing.TB
	pause time.Duration // longer than a call of Acquire takes if it need not wait
}

const (
	window = 2 * time.Second  // the length of the server's windows: short, since some tests run in real time
	giveUp = 20 * time.Second // how long a request may wait before it is cancelled
)

// response returns the outcome of a request that was sent just now. Its window has counted no other
// request, because a limiter becomes cautious if others use the key.
func response(status, remaining int) ratelimit.Outcome {
	now := time.Now()
	w := ratelimit.Window{Limit: remaining + 1, Remaining: remaining, Reset: now.Add(window).Truncate(time.Second)}
	return ratelimit.Outcome{Sent: now, Received: now, StatusCode: status, Date: now.Truncate(time.Second), Window: w}
}

func ok(remaining int) ratelimit.Outcome { return response(http.StatusOK, remaining) }

// request is a request for a permit, and its own observer.
type request struct {
	ratelimit.Request
	*client
	ctx            context.Context
	cancel         context.CancelCauseFunc
	over           chan struct{} // closed when Acquire has returned
	permit         ratelimit.Permit
	err            error
	took           time.Duration
	ended          time.Time
	waits          int               // calls of WaitStart, minus calls of WaitDone
	waited         time.Duration     // the length of its waits, as reported
	closed, opened int               // how often the key was reported closed, and opened
	lockout        ratelimit.Lockout // the last reported one
}

// request returns a request without a deadline: a deadline would be a reason to refuse it.
func (c *client) request(maxWait time.Duration) *request {
	r := &request{client: c, over: make(chan struct{})}
	r.MaxWait, r.Observer = maxWait, r
	r.ctx, r.cancel = context.WithCancelCause(c.t.Context())
	return r
}

// patient returns a request that waits for up to an hour.
func (c *client) patient() *request { return c.request(time.Hour) }

// The methods of the observer call the limiter, because a limiter must allow this.
func (r *request) WaitStart(ratelimit.Wait)        { r.RateLimit(r.Key); r.waits++ }
func (r *request) WaitDone(w ratelimit.Wait)       { r.RateLimit(r.Key); r.waits--; r.waited += w.Duration }
func (r *request) LimitClosed(l ratelimit.Lockout) { r.RateLimit(r.Key); r.closed++; r.lockout = l }
func (r *request) LimitOpened(ratelimit.Lockout)   { r.RateLimit(r.Key); r.opened++ }

func (c *client) must(ok bool, format string, args ...any) {
	c.t.Helper()
	if !ok {
		c.t.Errorf(format, args...)
	}
}

// acquire calls Acquire. It cancels the request after giveUp.
func (r *request) acquire() {
	defer close(r.over)
	defer time.AfterFunc(giveUp, func() { r.cancel(nil) }).Stop()
	began := time.Now()
	r.permit, r.err = r.Acquire(r.ctx, r.Request)
	r.ended, r.took = time.Now(), time.Since(began)
}

// ask asks for the permit. It returns when the request has its permit or has begun to wait.
func (r *request) ask() *request {
	go r.acquire()
	time.Sleep(r.pause)
	return r
}

// isWaiting reports whether Acquire has not returned yet.
func (r *request) isWaiting() bool {
	select {
	case <-r.over:
		return false
	case <-time.After(r.pause):
		return true
	}
}

// admittedAfter waits until the request has its permit, which must not come before `at`.
func (r *request) admittedAfter(at time.Time) *request {
	<-r.over
	r.must(r.permit != nil && r.err == nil, "Acquire returned no permit: %v", r.err)
	r.must(!r.ended.Before(at), "admitted %v too early", at.Sub(r.ended))
	return r
}

// atOnce gets the permit of the request, which must come at once.
func (r *request) atOnce() *request {
	r.acquire()
	r.must(r.took < 3*r.pause, "admitted after %v, not at once", r.took)
	return r.admittedAfter(time.Time{})
}

// refused returns the error of Acquire, which must come at once.
func (r *request) refused() (e ratelimit.Error) {
	r.acquire()
	r.must(r.took < 3*r.pause, "refused after %v, not at once", r.took)
	r.release(ratelimit.Outcome{})
	if refused, ok := errors.AsType[*ratelimit.Error](r.err); ok {
		return *refused
	}
	r.t.Errorf("Acquire returned %v, not an Error of package ratelimit", r.err)
	return e
}

func (r *request) release(o ratelimit.Outcome) (l ratelimit.Lockout) {
	if r.permit != nil {
		l = r.permit.Release(o)
	}
	return l
}

// reject gives the request a 429, and returns the time at which the key opens. The 429 shows a
// Remaining of 1: if it were 0, a limiter could conclude that others use the key, and wait longer.
func (r *request) reject(retryAfter time.Duration) time.Time {
	o := response(http.StatusTooManyRequests, 1)
	o.RetryAfter = retryAfter
	opens := o.Received.Add(retryAfter)
	l := r.release(o)
	r.must(!l.Until.Before(opens), "Release returned a lockout until %v, not until %v", l.Until, opens)
	return opens
}

// openWindow makes a request whose response shows a window with that many requests left, and
// returns the end of the window.
func (c *client) openWindow(remaining int) time.Time {
	o := ok(remaining)
	c.patient().atOnce().release(o)
	return o.Window.Reset
}

// succeedsAfter makes a request that succeeds. Its permit must not come before `at`.
func (c *client) succeedsAfter(at time.Time) *request {
	r := c.patient().ask().admittedAfter(at)
	r.release(ok(50))
	return r
}
