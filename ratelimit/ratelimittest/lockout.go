package ratelimittest

import (
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// lockoutRules are about 429s and windows that are used up.
var lockoutRules = []rule{
	{name: "nothing is admitted after a 429 before its time", check: func(c *client) {
		c.opensAt(c.close(3 * time.Second))
	}},
	{name: "nothing is admitted after a 429 while permits are out, whatever their responses", check: func(c *client) {
		c.start(50)
		var out, waiting []*request
		for range 3 {
			if r := c.request().ask(); r.isWaiting() {
				waiting = append(waiting, r)
			} else {
				out = append(out, r)
			}
		}
		sent := ok(49)
		opens := out[0].reject(2 * time.Second)
		waiting = append(waiting, c.request().ask())
		for _, r := range out[1:] {
			r.release(sent)
		}
		for _, r := range waiting {
			r.wait(opens).release(ok(50))
		}
	}},
	{name: "one request goes first after a 429", check: func(c *client) {
		opens := c.close(time.Second)
		first, second := c.request().ask(), c.request().ask()
		first.wait(opens)
		c.must(second.isWaiting(), "the second was admitted before the response to the first")
		first.release(ok(50))
		second.wait(opens).release(ok(49))
	}},
	{name: "nothing is admitted before the end of a window that is used up", check: func(c *client) {
		c.opensAt(c.start(0))
	}},
	{name: "a request is refused at once if its wait would be too long", check: func(c *client) {
		opens := c.close(time.Hour)
		for _, maxWait := range []time.Duration{0, time.Minute} {
			e := c.impatient(maxWait).refused()
			c.must(!e.RetryAt.Before(opens) && e.RetryAt.Before(opens.Add(grace)), "RetryAt is %v, not %v", e.RetryAt, opens)
			c.must(e.Reason == ratelimit.ReasonBan && e.Err == nil, "Reason %q and Err %v", e.Reason, e.Err)
		}
	}},
	{name: "requests that wait are refused when a lockout is too long", check: func(c *client) {
		first, waiter := c.request().now(), c.impatient(time.Minute).ask()
		first.release(tooMany(time.Hour))
		c.must(!waiter.isWaiting(), "one waits on")
		<-waiter.over
		c.must(waiter.err != nil, "one got a permit")
		waiter.release(ratelimit.Outcome{})
	}},
	{name: "Reopen lets one request go, and its success opens the key", check: func(c *client) {
		c.close(10 * time.Minute)
		c.Reopen("")
		first := c.request().now()
		second := c.request().ask()
		c.must(second.isWaiting(), "a second one was admitted before the response to the first")
		first.release(ok(50))
		first.told("LimitOpened", 1)
		second.wait(time.Time{}).release(ok(49))
		c.Reopen("") // of an open key
		c.request().now().release(ok(48))
	}},
	{name: "keys never meet", check: func(c *client) {
		c.close(time.Hour)
		other := c.request()
		other.Key = "other"
		other.now().release(ok(50))
		c.impatient(0).refused()
		c.Reopen("other")
		c.impatient(0).refused()
		left, none := c.RateLimit("other").Remaining, c.RateLimit("unknown")
		c.must(left == 50 && none.IsZero(), "RateLimit returned %d and %v", left, none)
	}},
}
