package ratelimittest

import (
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// reportRules are about what a limiter reports. All observers of these tests use the limiter, which
// must not hold a lock when it calls them.
var reportRules = []rule{
	{name: "each wait is reported once", check: func(c *client) {
		r := c.request().now()
		r.release(ok(0))
		r.told("WaitStart", 0)
		waiter := c.opensAt(time.Time{})
		waiter.told("WaitStart", 1)
		for _, e := range waiter.told("WaitDone", 1) {
			c.must(e.wait.Duration > 0, "WaitDone(%+v)", e.wait)
		}
	}},
	{name: "a lockout is reported once, and its end", check: func(c *client) {
		c.start(50)
		a, b := c.request().now(), c.request().now()
		opens := a.reject(2 * time.Second)
		b.reject(2 * time.Second)
		b.told("LimitClosed", 0)
		next := c.opensAt(opens)
		for _, e := range append(a.told("LimitClosed", 1), next.told("LimitOpened", 1)...) {
			ok := e.lockout.Reason == ratelimit.ReasonMinute && !e.lockout.Until.Before(opens)
			c.must(ok, "the lockout was reported as %+v", e.lockout)
		}
		last := c.request().now()
		last.release(ok(49))
		last.told("LimitOpened", 0)
	}},
	{name: "a lockout is reported again if another limit makes it longer", check: func(c *client) {
		c.start(50)
		a, b := c.request().now(), c.request().now()
		a.reject(time.Second)
		b.reject(time.Hour)
		a.told("LimitClosed", 1)
		for _, e := range b.told("LimitClosed", 1) {
			c.must(e.lockout.Reason == ratelimit.ReasonBan, "the lockout was reported as %+v", e.lockout)
		}
	}},
	{name: "a refused request reports that the key is closed", check: func(c *client) {
		c.start(0)
		r, again := c.impatient(0), c.impatient(0)
		r.refused()
		again.refused()
		r.told("LimitClosed", 1)
		again.told("LimitClosed", 0)
	}},
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
		c.impatient(time.Minute).refused()
	}},
}

// mustSurvive lets a function of the observer panic during a wait, and checks that no permit is
// lost.
func (c *client) mustSurvive(function string) {
	end := c.start(0)
	r := c.request()
	r.panicsIn = function
	r.ask()
	<-r.over
	c.must(r.panicked == function, "the panic did not reach the caller")
	c.request().ask().wait(end).release(ok(1))
	c.request().now().release(ok(50))
}
