package ratelimittest

import (
	"net/http"
	"sync"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// permitRules are about what a permit allows, and what its release means.
var permitRules = []rule{
	{name: "one permit is one request", check: onePermitOneRequest},
	{name: "a permit of a request that was not sent is free again, once", check: func(c *client) {
		c.start(1)
		r := c.request().now()
		for range 2 {
			r.release(ratelimit.Outcome{})
		}
		end := windowEnd()
		c.request().now()
		c.opensAt(end)
	}},
	{name: "a request without a response counts", check: func(c *client) {
		c.mustCount(ratelimit.Outcome{Sent: time.Now()})
	}},
	{name: "a response without headers changes no limit", check: func(c *client) {
		o := outcome(http.StatusBadGateway, 0)
		o.Window = ratelimit.Window{}
		c.mustCount(o)
	}},
	{name: "a second release has no effect", check: func(c *client) {
		r := c.request().now()
		r.release(ok(50))
		r.release(tooMany(time.Hour))
		c.request().now().release(ok(49))
	}},
	{name: "a late response does not raise what a later request lowered", check: func(c *client) {
		c.start(50)
		late, old := c.request().ask().wait(time.Time{}), ok(49)
		time.Sleep(windowLength + 2*time.Second)
		end := c.start(0)
		old.Received = time.Now()
		late.release(old)
		c.opensAt(end)
	}},
}

// mustCount gives the last request of a window an outcome that shows nothing about the window, and
// checks that the request was counted all the same.
func (c *client) mustCount(o ratelimit.Outcome) {
	end := c.start(1)
	c.request().now().release(o)
	c.opensAt(end)
}

// onePermitOneRequest lets twelve callers use windows of eight requests each. None of the windows
// may get more than eight.
func onePermitOneRequest(c *client) {
	const most = 8
	var mu sync.Mutex
	var reset time.Time
	counted := 0
	serve := func() ratelimit.Outcome {
		mu.Lock()
		defer mu.Unlock()
		if !time.Now().Before(reset) {
			reset, counted = windowEnd(), 0
		}
		counted++
		c.must(counted <= most, "request %d of a window of %d", counted, most)
		o := ok(max(0, most-counted))
		o.Window.Limit, o.Window.Reset = most, reset
		return o
	}
	var callers sync.WaitGroup
	for range most + most/2 {
		callers.Go(func() {
			r := c.request().ask().wait(time.Time{})
			o := serve()
			time.Sleep(20 * time.Millisecond)
			o.Received = time.Now()
			r.release(o)
		})
	}
	callers.Wait()
}
