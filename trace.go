package petstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

// ClientTrace is a set of functions that a [Client] calls during each API call, similar to
// [net/http/httptrace.ClientTrace]. Each may be nil. The functions are called on the goroutine of
// the call: one at a time for one call, but at the same time for different calls. They must be safe
// for concurrent use, and quick, since the call waits for them. [CallFromContext] returns the call
// from their context.
//
// A panic in a function ends the call, and reaches its caller. The functions of other traces that
// belong to the same event, and those of its end, are called nevertheless.
//
// WaitDone and AttemptStart are called while the call has its permit. They must not make a call
// with the same limiter: it might wait for the response to this one.
//
// Their arguments contain nothing secret; the functions may keep them.
type ClientTrace struct {
	// CallStart is called first in each call. It returns the context of the call and its requests:
	// ctx or one derived from it. nil means ctx.
	CallStart func(ctx context.Context, c Call) context.Context
	// CallDone is called at the end of the call, also if it panicked. ctx is that of the call.
	CallDone func(ctx context.Context, info CallDoneInfo)
	// WaitStart is called when the call begins to wait before a request. The waits of a [Limiter]
	// are reported only if it calls [LimitRequest.StartWait].
	WaitStart func(ctx context.Context, w Wait)
	// WaitDone is called once for each WaitStart.
	WaitDone func(ctx context.Context, w Wait)
	// AttemptStart is called before a request is passed to the transport.
	AttemptStart func(ctx context.Context, c Call)
	// AttemptDone is called when the response has been read, or the request has failed.
	AttemptDone func(ctx context.Context, info AttemptDoneInfo)
	// LimitClosed is called once for each closure of the rate limit: after a 429, or when a call is
	// refused because its wait would be too long. Waiting for the next window is no closure.
	LimitClosed func(ctx context.Context, info LimitInfo)
	// LimitOpened is called after LimitClosed, when the service has accepted a request again.
	// info.Until is the time at which that was expected.
	LimitOpened func(ctx context.Context, info LimitInfo)
}

// CallDoneInfo is the argument of [ClientTrace].CallDone.
type CallDoneInfo struct {
	// Call is the call at its end.
	Call Call
	// Duration is the time that the call took, including waits.
	Duration time.Duration
	// Err is the error of the call; nil for a success.
	Err error
}

// AttemptDoneInfo is the argument of [ClientTrace].AttemptDone.
type AttemptDoneInfo struct {
	// Call is the call; its Attempt is the number of this request.
	Call Call
	// Duration is the time from passing the request to the transport to the end of the body.
	Duration time.Duration
	// StatusCode is the HTTP status code; 0 without a response.
	StatusCode int
	// RateLimit is the rate limit from the X-RateLimit headers; zero if one is missing or
	// malformed.
	RateLimit RateLimit
	// RetryAfter is the time from Retry-After; 0 without a valid one.
	RetryAfter time.Duration
	// Sent reports whether the request may have been written.
	Sent bool
	// Err is the reason why there is no complete response. It is nil for a complete response with
	// any status.
	Err error
}

// LimitInfo is the argument of [ClientTrace].LimitClosed and LimitOpened.
type LimitInfo struct {
	// Call is the call that was refused, or whose response closed or opened the gate.
	Call Call
	// Scope is the limit that seems to have closed the gate; empty if not known.
	Scope LimitScope
	// Until is the time at which the gate opens, by the local clock; zero if not known.
	Until time.Time
	// Waiting is the number of the client's calls that wait now.
	Waiting int
}

// tracer reports the events of a client's calls to its traces.
type tracer struct {
	traces  []*ClientTrace
	waiting atomic.Int64 // number of calls that wait
	closure closure
}

func (t *tracer) on() bool { return len(t.traces) > 0 }

// each calls one function of each trace, in the order of the options, and of the later ones also if
// one panics: a trace that got the start of something gets its end.
func each[T any](
	ctx context.Context, traces []*ClientTrace, info T, function func(*ClientTrace) func(context.Context, T),
) {
	if len(traces) == 0 {
		return
	}
	defer each(ctx, traces[1:], info, function)
	if f := function(traces[0]); f != nil {
		f(ctx, info)
	}
}

func (t *tracer) attemptStart(ctx context.Context, c Call) {
	each(ctx, t.traces, c, func(t *ClientTrace) func(context.Context, Call) { return t.AttemptStart })
}

func (t *tracer) attemptDone(ctx context.Context, info AttemptDoneInfo) {
	each(ctx, t.traces, info, func(t *ClientTrace) func(context.Context, AttemptDoneInfo) { return t.AttemptDone })
}

func (t *tracer) waitStart(ctx context.Context, w Wait) {
	each(ctx, t.traces, w, func(t *ClientTrace) func(context.Context, Wait) { return t.WaitStart })
}

func (t *tracer) waitDone(ctx context.Context, w Wait) {
	each(ctx, t.traces, w, func(t *ClientTrace) func(context.Context, Wait) { return t.WaitDone })
}

// limitClosed calls the LimitClosed functions if this is a new closure.
func (t *tracer) limitClosed(ctx context.Context, info LimitInfo, left int, count uint64) {
	info.Waiting = int(t.waiting.Load())
	if t.closure.close(info, left, count) {
		each(ctx, t.traces, info, func(t *ClientTrace) func(context.Context, LimitInfo) { return t.LimitClosed })
	}
}

// limitOpened calls the LimitOpened functions if the response of an admitted request shows the end
// of a closure.
func (t *tracer) limitOpened(ctx context.Context, c Call, ready time.Time, remaining int, count uint64) {
	if info, was := t.closure.open(ready, remaining, count); was {
		info.Call, info.Waiting = c, int(t.waiting.Load())
		each(ctx, t.traces, info, func(t *ClientTrace) func(context.Context, LimitInfo) { return t.LimitOpened })
	}
}

// callStart calls the CallStart functions of traces, as each calls the others. It sets ctx to the
// context of the last one.
func callStart(ctx *context.Context, traces []*ClientTrace, c Call) {
	if len(traces) == 0 {
		return
	}
	defer callStart(ctx, traces[1:], c)
	if start := traces[0].CallStart; start != nil {
		if changed := start(*ctx, c); changed != nil {
			*ctx = changed //nolint:fatcontext // once for each trace
		}
	}
}

func (t *tracer) callDone(ctx context.Context, info CallDoneInfo) {
	each(ctx, t.traces, info, func(t *ClientTrace) func(context.Context, CallDoneInfo) { return t.CallDone })
}

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

// open ends a closure if there was one and a response shows its end, and returns what closed the
// gate. A request that was ready then shows that if the closure should have ended before, or if it
// asked for its permit during the closure and got it early, as after Reopen. While the last requests
// of a window are admitted, others are refused already; of these, each shows that less is left.
func (c *closure) open(ready time.Time, remaining int, count uint64) (LimitInfo, bool) {
	if c.count.Load()%2 == 0 {
		return LimitInfo{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.count.Load()
	ended := !ready.Before(c.since) && quota.Passed(ready, c.info.Until)
	early := count == now && remaining > c.left
	if now%2 == 0 || !ended && !early {
		return LimitInfo{}, false
	}
	c.count.Add(1)
	return c.info, true
}
