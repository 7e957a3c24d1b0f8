package ratelimittest

import (
	"context"
	"errors"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// waitRules are about when a wait ends, and when there is none.
func waitRules() []rule {
	return []rule{
		{name: "no request goes before its NotBefore, and others do", check: func(c *client) {
			c.start(50)
			early := c.request()
			early.NotBefore = time.Now().Add(time.Second)
			early.ask()
			c.request().now().release(ok(49))
			early.wait(early.NotBefore).release(ok(48))
		}},
		{name: "a NotBefore after the longest wait is refused at once", check: func(c *client) {
			r := c.request()
			r.NotBefore, r.MaxWait = time.Now().Add(time.Minute), time.Second
			e := r.refused()
			c.must(!e.RetryAt.Before(r.NotBefore), "RetryAt %v is before NotBefore", e.RetryAt)
		}},
		{name: "the wait for a response does not count", check: func(c *client) {
			first, waiter := c.request().now(), c.request()
			waiter.MaxWait = 0
			waiter.ask()
			c.must(waiter.isWaiting(), "a second one was admitted while nothing is known")
			first.release(ok(50))
			waiter.wait(time.Time{}).release(ok(49))
		}},
	}
}

// contextRules are about contexts that end, before or during a wait.
func contextRules() []rule {
	return []rule{
		{name: "a context that has ended gets no permit", check: func(c *client) {
			r, cancel := c.cancelable()
			cancel(errCause)
			c.mustEnd(r.refused())
			c.request().now().release(ok(50))
		}},
		{name: "a wait ends with its context, and the next one goes", check: func(c *client) {
			end := c.useUp()
			r, cancel := c.cancelable()
			r.ask()
			next := c.request().ask()
			cancel(errCause)
			<-r.over
			c.must(time.Now().Before(end), "the wait did not end with its context")
			e, _ := errors.AsType[*ratelimit.Error](r.err)
			c.mustEnd(e)
			r.release(ratelimit.Outcome{})
			next.wait(end).release(ok(50))
		}},
		{name: "a deadline before the end of the wait is refused at once", check: func(c *client) {
			c.close(time.Hour)
			ctx, cancel := context.WithTimeout(c.ctx, time.Minute)
			defer cancel()
			r := c.request()
			r.ctx, r.MaxWait = ctx, 2*time.Hour
			c.must(r.refused().Err == nil, "Err is set although the context has not ended")
		}},
	}
}

// panicRules are about observers that panic.
func panicRules() []rule {
	return []rule{
		{name: "a panic in WaitStart loses no permit", check: func(c *client) { c.mustSurvive("WaitStart") }},
		{name: "a panic in WaitDone loses no permit", check: func(c *client) { c.mustSurvive("WaitDone") }},
		{name: "a panic in LimitClosed keeps the key closed", check: func(c *client) {
			r := c.request()
			r.panicsIn = "LimitClosed"
			r.now()
			func() {
				defer func() { c.must(recover() != nil, "the panic did not reach the caller") }()
				r.release(tooMany(time.Hour))
			}()
			later := c.request()
			later.MaxWait = time.Minute
			later.refused()
		}},
	}
}

var errCause = errors.New("the cause")

// cancelable returns a request and what cancels its context.
func (c *client) cancelable() (*request, context.CancelCauseFunc) {
	r := c.request()
	ctx, cancel := context.WithCancelCause(c.ctx)
	r.ctx = ctx
	return r, cancel
}

// mustSurvive has a function of the observer panic during a wait.
func (c *client) mustSurvive(function string) {
	end := c.useUp()
	r := c.request()
	r.panicsIn = function
	r.ask()
	<-r.over
	c.must(r.panicked == function, "the panic did not reach the caller")
	c.request().ask().wait(end).release(ok(1))
	c.request().now().release(ok(50))
}

// mustEnd checks the error after the end of a context.
func (c *client) mustEnd(e *ratelimit.Error) {
	ok := e != nil && errors.Is(e, context.Canceled) && errors.Is(e, errCause)
	c.must(ok, "the error %v is not that of the context, with its cause", e)
}
