package ratelimittest

import (
	"net/http"
	"sync"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// permitRules are about what a permit allows, and what its release means.
func permitRules() []rule {
	return []rule{
		{name: "one permit is one request", check: onePermitOneRequest},
		{name: "a permit of a request that was not sent is free again, once", check: func(c *client) {
			c.start(1)
			r := c.request().now()
			end := time.Now().Add(windowLength).Truncate(time.Second)
			for range 2 {
				r.release(ratelimit.Outcome{})
			}
			c.request().now()
			c.request().ask().wait(end).release(ok(50))
		}},
		{name: "a request without a response counts", check: func(c *client) {
			c.start(1)
			end := time.Now().Add(windowLength).Truncate(time.Second)
			c.request().now().release(ratelimit.Outcome{Sent: time.Now()})
			c.request().ask().wait(end).release(ok(50))
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
			end := c.useUp()
			old.Received = time.Now()
			late.release(old)
			c.request().ask().wait(end).release(ok(50))
		}},
		{name: "a response without headers changes no limit", check: func(c *client) {
			c.start(1)
			end := time.Now().Add(windowLength).Truncate(time.Second)
			o := outcome(http.StatusBadGateway, 0)
			o.Window = ratelimit.Window{}
			c.request().now().release(o)
			c.request().ask().wait(end).release(ok(50))
		}},
	}
}

// onePermitOneRequest has twelve callers use a window of eight requests.
func onePermitOneRequest(c *client) {
	const most = 8
	var mu sync.Mutex
	var reset time.Time
	counted := 0
	serve := func() ratelimit.Outcome {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); !now.Before(reset) {
			reset, counted = now.Truncate(time.Second).Add(windowLength), 0
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
