package petstore

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

// closure is the time during which the rate limit is closed for the key: from the first 429 or
// local refusal until the service has accepted a request that shows its end. A client records it to
// report each closure once.
type closure struct {
	count atomic.Uint64 // beginnings and ends of closures so far: odd while one lasts
	mu    sync.Mutex
	since time.Time
	left  int // what the limit had left, if that closed it for a local refusal; else -1
	info  LimitInfo
}

// close records a closure, and reports whether it is a new one. count is that of the time when the
// request asked for its permit: a refusal or 429 from before the end of the last closure is part of
// that one, unless it closes the key for longer.
func (c *closure) close(info LimitInfo, left int, count uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.count.Load()
	if now%2 == 0 && count != now && !info.Until.After(c.info.Until) {
		return false
	}
	c.info = info
	if now%2 == 1 {
		return false
	}
	c.since, c.left = time.Now(), left
	c.count.Add(1)
	return true
}

// open ends a closure if there was one and a's response shows its end, and returns what closed the
// gate. A request shows that if it was sent after the closure should have ended, or if it asked for
// its permit during the closure and got it early, as after Reopen. While the last requests of a
// window are admitted, others are refused already; of these, each shows that less is left.
func (c *closure) open(a *attempt) (LimitInfo, bool) {
	if c.count.Load()%2 == 0 {
		return LimitInfo{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ended := !a.ready.Before(c.since) && quota.Over(a.ready, c.info.Until)
	early := a.closures == c.count.Load() && a.rateLimit.Remaining > c.left
	if c.count.Load()%2 == 0 || !ended && !early {
		return LimitInfo{}, false
	}
	c.count.Add(1)
	return c.info, true
}

// reportGate calls the LimitClosed or LimitOpened functions if a's response closes or opens the gate.
func (k *call) reportGate(a *attempt) {
	switch {
	case len(k.client.traces) == 0 || a.statusCode == 0:
	case a.statusCode == http.StatusTooManyRequests:
		k.gateClosed(a, a.scope(), a.retryAt(), -1)
	default:
		if info, was := k.client.closure.open(a); was {
			info.Call, info.Waiting = a.describe(), int(k.client.waiting.Load())
			trace(k.ctx.Context, k, info,
				func(t *ClientTrace) func(context.Context, LimitInfo) { return t.LimitOpened })
		}
	}
}

// gateClosed calls the LimitClosed functions if this is a new closure.
func (k *call) gateClosed(a *attempt, scope LimitScope, until time.Time, left int) {
	if len(k.client.traces) == 0 {
		return
	}
	info := LimitInfo{k.describe(), scope, until, int(k.client.waiting.Load())}
	if k.client.closure.close(info, left, a.closures) {
		trace(k.ctx.Context, k, info, func(t *ClientTrace) func(context.Context, LimitInfo) { return t.LimitClosed })
	}
}
