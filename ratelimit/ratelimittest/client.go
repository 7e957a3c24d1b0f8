package ratelimittest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

const (
	// windowLength is short, so that the tests need few seconds also in real time.
	windowLength = 2 * time.Second
	// grace is how much later than necessary a limiter may act: it has to round times, and must leave
	// a margin.
	grace = 5 * time.Second
)

// client uses a limiter as the clients of a server do, and notes what is wrong with it.
type client struct {
	Limiter
	ctx      context.Context
	patience time.Duration // how long a request may wait before it is given up
	idle     func()        // waits until nothing more happens unless the test or the clock goes on

	mu       sync.Mutex
	problems []string
}

// must notes a problem unless ok.
func (c *client) must(ok bool, format string, args ...any) {
	if !ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.problems = append(c.problems, fmt.Sprintf(format, args...))
	}
}

// outcome returns the outcome of a request that was sent just now, with its response. Its window
// has counted no other request, since others would make a limiter cautious.
func outcome(status, remaining int) ratelimit.Outcome {
	now := time.Now()
	return ratelimit.Outcome{
		Sent: now, Received: now, StatusCode: status, Date: now.Truncate(time.Second),
		Window: ratelimit.Window{Limit: remaining + 1, Remaining: remaining, Reset: windowEnd()},
	}
}

// windowEnd is the end of a window that begins now.
func windowEnd() time.Time { return time.Now().Add(windowLength).Truncate(time.Second) }

func ok(remaining int) ratelimit.Outcome { return outcome(http.StatusOK, remaining) }

// tooMany returns a 429 whose window has something left. If its window were used up, a limiter
// could conclude that other processes use the key, and wait longer.
func tooMany(retryAfter time.Duration) ratelimit.Outcome {
	o := outcome(http.StatusTooManyRequests, 1)
	o.RetryAfter = retryAfter
	return o
}

// request is a request for a permit. It is also its own observer, and records what it is told.
type request struct {
	ratelimit.Request
	c          *client
	ctx        context.Context
	cancel     context.CancelCauseFunc
	panicsIn   string        // name of the observer's function that panics; empty for none
	reported   chan struct{} // gets a value for each WaitStart
	over       chan struct{} // closed when Acquire has returned
	permit     ratelimit.Permit
	err        error
	panicked   any
	admittedAt time.Time

	mu     sync.Mutex
	events []event
}

// event is a call of an observer.
type event struct {
	name    string
	wait    ratelimit.Wait
	lockout ratelimit.Lockout
}

// request returns a request that waits for an hour at most.
func (c *client) request() *request {
	r := &request{
		Request: ratelimit.Request{MaxWait: time.Hour}, c: c,
		reported: make(chan struct{}, 10), over: make(chan struct{}),
	}
	// The context has no deadline, which would be a reason to refuse the request.
	r.ctx, r.cancel = context.WithCancelCause(c.ctx)
	return r
}

// impatient returns a request that waits for no longer than maxWait.
func (c *client) impatient(maxWait time.Duration) *request {
	r := c.request()
	r.MaxWait = maxWait
	return r
}

// note records an event. It also calls the limiter, which an observer is allowed to do.
func (r *request) note(e event) {
	r.c.RateLimit(r.Key)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.events = append(r.events, e); r.panicsIn == e.name {
		panic(e.name)
	}
}

func (r *request) WaitStart(w ratelimit.Wait) {
	r.note(event{name: "WaitStart", wait: w})
	r.reported <- struct{}{}
}
func (r *request) WaitDone(w ratelimit.Wait)       { r.note(event{name: "WaitDone", wait: w}) }
func (r *request) LimitClosed(l ratelimit.Lockout) { r.note(event{name: "LimitClosed", lockout: l}) }
func (r *request) LimitOpened(l ratelimit.Lockout) { r.note(event{name: "LimitOpened", lockout: l}) }

// told returns the events with a name. There must be exactly as many as times says.
func (r *request) told(name string, times int) (events []event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.name == name {
			events = append(events, e)
		}
	}
	r.c.must(len(events) == times, "%s was called %d times, not %d", name, len(events), times)
	return events
}

// acquire calls Acquire, which may panic.
func (r *request) acquire() {
	defer close(r.over)
	defer func() { r.panicked = recover() }()
	defer time.AfterFunc(r.c.patience, func() { r.cancel(nil) }).Stop()
	r.Observer = r
	r.permit, r.err = r.c.Acquire(r.ctx, r.Request)
	r.admittedAt = time.Now()
}

// ask asks for the permit, and returns when the request has reported its wait, or has its permit.
func (r *request) ask() *request {
	go r.acquire()
	select {
	case <-r.reported:
	case <-r.over:
	}
	return r
}

// wait waits until the request has its permit, which must not come before notBefore.
func (r *request) wait(notBefore time.Time) *request {
	<-r.over
	r.c.must(r.permit != nil && r.err == nil, "Acquire returned no permit: %v", r.err)
	r.c.must(!r.admittedAt.Before(notBefore), "admitted %v too early", notBefore.Sub(r.admittedAt))
	return r
}

// isWaiting reports whether the request has no permit yet.
func (r *request) isWaiting() bool {
	r.c.idle()
	select {
	case <-r.over:
		return false
	default:
		return true
	}
}

// now gets the permit of the request, which must come without a wait for a limit.
func (r *request) now() *request {
	start := time.Now()
	r.ask().wait(time.Time{})
	r.c.must(r.admittedAt.Sub(start) < time.Second, "admitted after %v, not at once", r.admittedAt.Sub(start))
	return r
}

// release releases the permit, if there is one.
func (r *request) release(o ratelimit.Outcome) ratelimit.Lockout {
	if r.permit == nil {
		return ratelimit.Lockout{}
	}
	return r.permit.Release(o)
}

// refused returns the error of Acquire, which must come at once.
func (r *request) refused() *ratelimit.Error {
	start := time.Now()
	r.acquire()
	r.release(ratelimit.Outcome{})
	refused, ok := errors.AsType[*ratelimit.Error](r.err)
	if !ok {
		r.c.must(false, "Acquire returned %v, not an Error of package ratelimit", r.err)
		return &ratelimit.Error{}
	}
	r.c.must(time.Since(start) < time.Second, "refused after %v, not at once", time.Since(start))
	return refused
}

// reject gives the request a 429 as its response, and returns when the key opens.
func (r *request) reject(retryAfter time.Duration) time.Time {
	o := tooMany(retryAfter)
	opens := o.Received.Add(retryAfter)
	l := r.release(o)
	r.c.must(!l.Until.Before(opens), "Release returned a lockout until %v, not until %v", l.Until, opens)
	return opens
}

// start makes a request whose response shows a window with that many requests left, and returns the
// end of the window.
func (c *client) start(remaining int) time.Time {
	o := ok(remaining)
	c.request().now().release(o)
	return o.Window.Reset
}

// close makes a request that gets a 429, and returns when the key opens.
func (c *client) close(retryAfter time.Duration) time.Time {
	return c.request().now().reject(retryAfter)
}

// opensAt makes a request that must get its permit at that time or later, and succeeds.
func (c *client) opensAt(at time.Time) *request {
	r := c.request().ask().wait(at)
	r.release(ok(50))
	return r
}
