package ratelimittest

import (
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// reportRules are about what a limiter reports. All observers of these tests use the limiter, which
// must not hold a lock when it calls them.
func reportRules() []rule {
	return []rule{
		{name: "each wait is reported once", check: func(c *client) {
			r := c.request().now()
			r.release(ok(0))
			c.must(r.count("WaitStart") == 0, "a request that did not wait reported one")
			waiter := c.request().ask().wait(time.Time{})
			waiter.release(ok(50))
			starts, dones := waiter.count("WaitStart"), waiter.count("WaitDone")
			c.must(starts == 1 && dones == 1, "WaitStart was called %d times, WaitDone %d times", starts, dones)
			for _, w := range waiter.waits {
				c.must(w.Duration > 0 && w.Limited > 0 && w.Limited <= w.Duration, "WaitDone(%+v)", w)
			}
		}},
		{name: "a wait that ends with its context is reported", check: func(c *client) {
			c.useUp()
			r, cancel := c.cancelable()
			r.ask()
			cancel(errCause)
			<-r.over
			c.must(r.count("WaitDone") == 1, "WaitDone was called %d times", r.count("WaitDone"))
			r.release(ratelimit.Outcome{})
		}},
	}
}

// lockoutReportRules are about the reports of lockouts.
func lockoutReportRules() []rule {
	return []rule{
		{name: "a lockout is reported once, and its end", check: func(c *client) {
			c.start(50)
			a, b := c.request().now(), c.request().now()
			opens := a.reject(2 * time.Second)
			b.reject(2 * time.Second)
			next := c.request().ask().wait(opens)
			next.release(ok(50))
			c.must(len(a.closed) == 1 && len(b.closed) == 0, "LimitClosed was called %d and %d times", len(a.closed), len(b.closed))
			c.must(len(next.opened) == 1, "LimitOpened was called %d times", len(next.opened))
			for _, l := range append(a.closed, next.opened...) {
				ok := l.Scope == ratelimit.ScopeMinute && !l.Until.Before(opens)
				c.must(ok, "the lockout was reported as %+v", l)
			}
			last := c.request().now()
			last.release(ok(49))
			c.must(len(last.opened) == 0, "LimitOpened was called again")
		}},
		{name: "a lockout is reported again if another limit makes it longer", check: func(c *client) {
			c.start(50)
			a, b := c.request().now(), c.request().now()
			a.reject(time.Second)
			b.reject(time.Hour)
			ok := len(a.closed) == 1 && len(b.closed) == 1 && b.closed[0].Scope == ratelimit.ScopeBan
			c.must(ok, "LimitClosed was called with %+v, then with %+v", a.closed, b.closed)
		}},
		{name: "a refused request reports that the key is closed", check: func(c *client) {
			c.useUp()
			r, again := c.request(), c.request()
			r.MaxWait, again.MaxWait = 0, 0
			r.refused()
			again.refused()
			c.must(len(r.closed) == 1 && len(again.closed) == 0, "LimitClosed was called %d and %d times", len(r.closed), len(again.closed))
		}},
		{name: "another limit is reported", check: func(c *client) {
			c.start(50)
			r, o := c.request().now(), ok(49)
			o.Window.Limit = 200
			r.release(o)
			c.must(r.count("LimitChanged 51 200") == 1, "LimitChanged was not called; events: %v", r.events)
		}},
	}
}
