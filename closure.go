package petstore

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// closure is the time during which the rate limit is closed for the key: from the first 429 or
// local refusal to the first response to a request sent after that. A client records it to report
// each closure once.
type closure struct {
	closed atomic.Bool
	mu     sync.Mutex
	since  time.Time
	info   GateInfo
}

// close records a closure, and reports whether the gate was open before.
func (c *closure) close(info GateInfo) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.info = info
	if c.closed.Swap(true) {
		return false
	}
	c.since = time.Now()
	return true
}

// open ends a closure if there was one, and returns what closed the gate. sent is the time of the
// request that the service accepted; if it was sent before the closure, the gate stays closed.
func (c *closure) open(sent time.Time) (GateInfo, bool) {
	if !c.closed.Load() {
		return GateInfo{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if sent.Before(c.since) || !c.closed.Swap(false) {
		return GateInfo{}, false
	}
	return c.info, true
}

// reportGate calls the GateClosed or GateOpened functions if a's response closes or opens the gate.
func (k *call) reportGate(a *attempt) {
	switch {
	case len(k.client.traces) == 0 || a.statusCode == 0:
	case a.statusCode == http.StatusTooManyRequests:
		k.gateClosed(a.scope(), a.retryAt())
	default:
		if info, was := k.client.closure.open(a.ready); was {
			info.Call, info.Waiting = a.describe(), int(k.client.waiting.Load())
			trace(k.ctx.Context, k, info, func(t *ClientTrace) func(context.Context, GateInfo) { return t.GateOpened })
		}
	}
}

// gateClosed calls the GateClosed functions if the gate was open.
func (k *call) gateClosed(scope LimitScope, until time.Time) {
	if len(k.client.traces) == 0 {
		return
	}
	info := GateInfo{k.describe(), scope, until, int(k.client.waiting.Load())}
	if k.client.closure.close(info) {
		trace(k.ctx.Context, k, info, func(t *ClientTrace) func(context.Context, GateInfo) { return t.GateClosed })
	}
}
