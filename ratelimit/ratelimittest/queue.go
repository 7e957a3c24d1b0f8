package ratelimittest

import (
	"context"
	"errors"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// queueRules are about the order of the requests that wait, and the end of a wait.
var queueRules = []rule{
	{name: "first come, first served", check: func(c *client) {
		c.inOrder(c.start(0), c.request().ask(), c.request().ask(), c.request().ask())
	}},
	{name: "a request that is tried again keeps its place", check: func(c *client) {
		again := c.request()
		again.Asked = time.Now()
		time.Sleep(10 * time.Millisecond)
		end := c.start(0)
		later := c.request().ask()
		c.inOrder(end, again.ask(), later)
	}},
	{name: "background requests go last", check: func(c *client) {
		end := c.start(0)
		background := c.request()
		background.Background = true
		background.ask()
		c.inOrder(end, c.request().ask(), c.request().ask(), background)
	}},
	{name: "background requests leave a reserve", check: func(c *client) {
		o := ok(19)
		for ; o.Window.Remaining > 1; o.Window.Remaining-- {
			c.request().now().release(o)
		}
		background := c.impatient(0)
		background.Background = true
		background.refused()
		c.request().now().release(o)
	}},
	{name: "no request goes before its NotBefore, and others do", check: func(c *client) {
		c.start(50)
		early := c.request()
		early.NotBefore = time.Now().Add(time.Second)
		early.ask()
		c.request().now().release(ok(49))
		early.wait(early.NotBefore).release(ok(48))
	}},
	{name: "a NotBefore after the longest wait is refused at once", check: func(c *client) {
		r := c.impatient(time.Second)
		r.NotBefore = time.Now().Add(time.Minute)
		e := r.refused()
		c.must(!e.RetryAt.Before(r.NotBefore), "RetryAt %v is before NotBefore", e.RetryAt)
		c.must(e.Reason == "", "the scope is %s, though no limit is the reason", e.Reason)
		r.told("LimitClosed", 0)
	}},
	{name: "the wait for a response does not count", check: func(c *client) {
		first, waiter := c.request().now(), c.impatient(0).ask()
		c.must(waiter.isWaiting(), "a second one was admitted while nothing is known")
		first.release(ok(50))
		waiter.wait(time.Time{}).release(ok(49))
	}},
	{name: "a context that has ended gets no permit", check: func(c *client) {
		r := c.request()
		r.cancel(errCause)
		c.mustEnd(r.refused())
		c.request().now().release(ok(50))
	}},
	{name: "a wait ends with its context, and the next one goes", check: func(c *client) {
		end := c.start(0)
		r, next := c.request().ask(), c.request().ask()
		r.cancel(errCause)
		<-r.over
		c.must(time.Now().Before(end), "the wait did not end with its context")
		c.mustEnd(r.err)
		r.told("WaitDone", 1)
		r.release(ratelimit.Outcome{})
		next.wait(end).release(ok(50))
	}},
	{name: "a deadline before the end of the wait is refused at once", check: func(c *client) {
		c.close(time.Hour)
		r := c.impatient(2 * time.Hour)
		ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
		defer cancel()
		r.ctx = ctx
		c.must(r.refused().Err == nil, "Err is set although the context has not ended")
	}},
}

// inOrder checks that the requests are admitted one after the other, in this order and not before
// notBefore. It never shows a window with more than one request left.
func (c *client) inOrder(notBefore time.Time, requests ...*request) {
	for i, r := range requests {
		r.wait(notBefore)
		for _, other := range requests[i+1:] {
			c.must(other.isWaiting(), "a later one was admitted with, or before, number %d", i+1)
		}
		o := ok(1)
		o.Window.Reset = o.Window.Reset.Add(time.Minute)
		r.release(o)
	}
	c.request().ask().wait(time.Time{}).release(ratelimit.Outcome{})
}

var errCause = errors.New("the cause")

// mustEnd checks the error after the end of a context.
func (c *client) mustEnd(err error) {
	ok := errors.Is(err, context.Canceled) && errors.Is(err, errCause)
	c.must(ok, "the error %v is not that of the context, with its cause", err)
}
