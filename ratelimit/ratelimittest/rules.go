package ratelimittest

import (
	"errors"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// rules are what each limiter must do, with a check for each rule.
var rules = []struct {
	name  string
	check func(c *client)
}{
	{"one permit is one request, also without a response, until the window ends", func(c *client) {
		end := c.openWindow(2)
		c.patient().atOnce().release(ok(1))
		c.patient().atOnce().release(ratelimit.Outcome{Sent: time.Now()})
		c.succeedsAfter(end)
	}},
	{"a permit that is released unsent is free again, once", func(c *client) {
		end := c.openWindow(1)
		r := c.patient().atOnce()
		r.release(ratelimit.Outcome{})
		r.release(ok(0))
		c.patient().atOnce()
		c.succeedsAfter(end)
	}},
	{"a late response does not raise what a later request lowered", func(c *client) {
		c.openWindow(50)
		late, old := c.patient().atOnce(), ok(49)
		time.Sleep(window + 2*time.Second)
		end := c.openWindow(0)
		late.release(old)
		c.succeedsAfter(end)
	}},
	{"a request for which there is room goes at once, also with MaxWait 0", func(c *client) {
		c.openWindow(50)
		c.request(0).atOnce()
	}},
	{"after a 429 nothing goes before its time, whatever other responses say, and then one first", func(c *client) {
		c.openWindow(50)
		a, b := c.patient().atOnce(), c.patient().atOnce()
		sent := ok(49)
		opens := a.reject(3 * time.Second)
		b.release(sent)
		first, second := c.patient().ask(), c.patient().ask()
		first.admittedAfter(opens)
		c.must(second.isWaiting(), "the second was admitted before the response to the first")
		first.release(ok(50))
		second.admittedAfter(opens)
	}},
	{"a request is refused at once if a known limit lasts longer than MaxWait", func(c *client) {
		first, waiter := c.patient().atOnce(), c.request(time.Minute).ask()
		opens := first.reject(time.Hour)
		c.must(!waiter.isWaiting() && waiter.err != nil, "one that waited before is not refused")
		e := c.request(0).refused()
		c.must(e.RetryAt.Sub(opens).Abs() < 5*time.Second, "RetryAt is %v, not %v", e.RetryAt, opens)
		c.must(e.Reason == ratelimit.ReasonBan && e.Err == nil, "Reason %q and Err %v", e.Reason, e.Err)
	}},
	{"no request waits for longer than MaxWait and a second", func(c *client) {
		c.patient().atOnce() // it gets no response
		r := c.request(0).ask()
		<-r.over
		c.must(r.took < time.Second+3*c.pause, "Acquire took %v", r.took)
	}},
	{"Reopen lets one request go, and its success opens the key", func(c *client) {
		c.patient().atOnce().reject(10 * time.Minute)
		c.Reopen("")
		first, second := c.patient().atOnce(), c.patient().ask()
		c.must(second.isWaiting(), "a second one was admitted before the response to the first")
		first.release(ok(50))
		c.must(first.opened == 1, "LimitOpened was called %d times", first.opened)
		second.admittedAfter(time.Time{})
	}},
	{"keys never meet", func(c *client) {
		c.patient().atOnce().reject(time.Hour)
		other := c.patient()
		other.Key = "other"
		other.atOnce().release(ok(50))
		c.Reopen("other")
		c.request(0).refused()
		left, none := c.RateLimit("other").Remaining, c.RateLimit("unknown")
		c.must(left == 50 && none.IsZero(), "RateLimit returned %d and %v", left, none)
	}},
	{"first come, first served, and a request that is tried again keeps its place", func(c *client) {
		again := c.patient()
		again.Asked = time.Now()
		time.Sleep(c.pause)
		end := c.openWindow(0)
		first, second := c.patient().ask(), c.patient().ask()
		c.inOrder(end, again.ask(), first, second)
	}},
	{"background requests go last, and leave a reserve to others", func(c *client) {
		o, background := ok(19), c.patient()
		for ; o.Window.Remaining > 1; o.Window.Remaining-- {
			c.patient().atOnce().release(o)
		}
		background.Background = true
		c.must(background.ask().isWaiting(), "one got the last permit of the window")
		c.patient().atOnce().release(o)
		c.inOrder(c.openWindow(0), c.patient().ask(), background)
	}},
	{"no request goes before its NotBefore, and others do", func(c *client) {
		c.openWindow(50)
		early, at := c.patient(), time.Now().Add(time.Second)
		early.NotBefore = at
		early.ask()
		c.patient().atOnce().release(ok(49))
		early.admittedAfter(at)
	}},
	{"a context that has ended gets no permit, and the next request goes", func(c *client) {
		end, cause := c.openWindow(0), errors.New("the cause")
		r, next := c.patient().ask(), c.patient().ask()
		late := c.patient()
		r.cancel(cause)
		c.must(!r.isWaiting() && errors.Is(r.err, cause), "the wait did not end with its context: %v", r.err)
		late.cancel(cause)
		c.must(late.refused().Err != nil && errors.Is(late.err, cause), "the error %v has not the cause", late.err)
		next.admittedAfter(end)
	}},
	{"each wait is reported, and its end", func(c *client) {
		c.openWindow(0)
		r := c.succeedsAfter(time.Time{})
		c.must(r.waits == 0 && r.waited > 0, "the end of %d waits was not reported, others took %v", r.waits, r.waited)
	}},
	{"a lockout is reported once, and its end", func(c *client) {
		c.openWindow(50)
		a, b := c.patient().atOnce(), c.patient().atOnce()
		opens := a.reject(2 * time.Second)
		b.reject(2 * time.Second)
		c.must(a.closed == 1 && b.closed == 0, "LimitClosed was not called once")
		c.must(a.lockout.Reason == ratelimit.ReasonMinute && !a.lockout.Until.Before(opens),
			"LimitClosed(%+v)", a.lockout)
		first, second := c.succeedsAfter(opens), c.succeedsAfter(opens)
		c.must(first.opened == 1 && second.opened == 0, "LimitOpened was not called once")
	}},
}

// inOrder checks that the requests are admitted one after the other, and none before notBefore.
// Each response shows a Remaining of 1, so that only one request may follow.
func (c *client) inOrder(notBefore time.Time, requests ...*request) {
	for i, r := range requests {
		r.admittedAfter(notBefore)
		for _, other := range requests[i+1:] {
			c.must(other.isWaiting(), "a later one was admitted with, or before, number %d", i+1)
		}
		o := ok(1)
		o.Window.Reset = o.Window.Reset.Add(time.Minute)
		r.release(o)
	}
}
