package ratelimittest

import (
	"sync"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// queueRules are about the order of the requests that wait.
func queueRules() []rule {
	return []rule{
		{name: "first come, first served", check: func(c *client) {
			c.inOrder(c.useUp(), c.request().ask(), c.request().ask(), c.request().ask())
		}},
		{name: "a request that is tried again keeps its place", check: func(c *client) {
			again := c.request()
			again.Asked = time.Now()
			time.Sleep(10 * time.Millisecond)
			end := c.useUp()
			later := c.request().ask()
			c.inOrder(end, again.ask(), later)
		}},
		{name: "background requests go last", check: func(c *client) {
			end := c.useUp()
			background := c.request()
			background.Background = true
			background.ask()
			c.inOrder(end, c.request().ask(), c.request().ask(), background)
		}},
		{name: "background requests leave a reserve", check: func(c *client) {
			o := ok(19)
			for o.Window.Remaining = 19; o.Window.Remaining > 1; o.Window.Remaining-- {
				c.request().now().release(o)
			}
			background := c.request()
			background.Background, background.MaxWait = true, 0
			background.refused()
			c.request().now().release(o)
		}},
		{name: "background requests are not starved", long: true, check: notStarved},
	}
}

// notStarved has a request in background wait behind others without end.
func notStarved(c *client) {
	background := c.request()
	background.Background = true
	stop := time.Now().Add(5 * time.Minute)
	var others sync.WaitGroup
	c.useUp()
	for range 3 {
		others.Go(func() {
			for time.Now().Before(stop) {
				r := c.request().ask().wait(time.Time{})
				time.Sleep(100 * time.Millisecond)
				r.release(ok(1))
			}
		})
	}
	c.settle()
	background.ask().wait(time.Time{}).release(ok(1))
	c.must(background.admittedAt.Before(stop), "admitted only when no other waited")
	others.Wait()
}

// inOrder has the requests be admitted one after the other, in this order and not before that time:
// the window never has more than one left.
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
