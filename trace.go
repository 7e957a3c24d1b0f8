package petstore

import (
	"context"
	"time"
)

// ClientTrace is a set of functions that a [Client] calls during each API call, similar to
// [net/http/httptrace.ClientTrace]. Each may be nil. The functions are called on the goroutine of
// the call: one at a time for one call, but at the same time for different calls. They must be safe
// for concurrent use, and quick, since the call waits for them.
//
// Their arguments contain nothing secret; the functions may keep them.
type ClientTrace struct {
	// CallStart is called first in each call. It returns the context of the call and its requests:
	// ctx or one derived from it. nil means ctx.
	CallStart func(ctx context.Context, c Call) context.Context
	// CallDone is called at the end of the call, also if it panicked. ctx is that of the call.
	CallDone func(ctx context.Context, info CallDoneInfo)
	// WaitStart is called when the call begins to wait before a request. The waits of a [Limiter]
	// are reported only if it calls [StartWait].
	WaitStart func(ctx context.Context, info WaitStartInfo)
	// WaitDone is called once for each WaitStart.
	WaitDone func(ctx context.Context, info WaitDoneInfo)
	// AttemptStart is called before a request is passed to the transport.
	AttemptStart func(ctx context.Context, c Call)
	// AttemptDone is called when the response has been read, or the request has failed.
	AttemptDone func(ctx context.Context, info AttemptDoneInfo)
	// GateClosed is called once for each closure of the rate limit: after a 429, or when a call is
	// refused because its wait would be too long. Waiting for the next window is no closure.
	GateClosed func(ctx context.Context, info GateInfo)
	// GateOpened is called after GateClosed, when the service has accepted a request again.
	// info.Until is the time at which that was expected.
	GateOpened func(ctx context.Context, info GateInfo)
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

// WaitStartInfo is the argument of [ClientTrace].WaitStart.
type WaitStartInfo struct {
	// Call is the call that waits.
	Call Call
	// Wait has the reason and the expected end of the wait.
	Wait Wait
}

// WaitDoneInfo is the argument of [ClientTrace].WaitDone.
type WaitDoneInfo struct {
	// Call is the call that waited.
	Call Call
	// Wait is the same as in WaitStartInfo.
	Wait Wait
	// Duration is the length of the wait.
	Duration time.Duration
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

// GateInfo is the argument of [ClientTrace].GateClosed and GateOpened.
type GateInfo struct {
	// Call is the call that was refused, or whose response closed or opened the gate.
	Call Call
	// Scope is the limit that seems to have closed the gate; empty if not known.
	Scope LimitScope
	// Until is the time at which the gate opens, by the local clock; zero if not known.
	Until time.Time
	// Waiting is the number of the client's calls that wait now.
	Waiting int
}

// trace calls one function of all traces, in the order of the options.
func trace[T any](ctx context.Context, k *call, info T, function func(*ClientTrace) func(context.Context, T)) {
	for _, t := range k.client.traces {
		if f := function(t); f != nil {
			f(ctx, info)
		}
	}
}

// traceCall calls the CallStart functions, and returns the function that calls the CallDone
// functions.
func (k *call) traceCall() func(error) {
	if len(k.client.traces) == 0 {
		return func(error) {}
	}
	begun := time.Now()
	for _, t := range k.client.traces {
		if t.CallStart == nil {
			continue
		}
		if ctx := t.CallStart(k.ctx.Context, k.describe()); ctx != nil {
			k.ctx.Context = ctx //nolint:fatcontext // once for each trace
		}
	}
	ctx := k.ctx.Context // without the timeout of WithCallTimeout, which has ended when the call is done
	return func(err error) {
		info := CallDoneInfo{k.describe(), time.Since(begun), err}
		trace(ctx, k, info, func(t *ClientTrace) func(context.Context, CallDoneInfo) { return t.CallDone })
	}
}

// traceAttempt calls the AttemptStart functions.
func (k *call) traceAttempt(a *attempt) {
	if len(k.client.traces) > 0 {
		call := a.describe()
		trace(k.ctx.Context, k, call, func(t *ClientTrace) func(context.Context, Call) { return t.AttemptStart })
	}
}

// tracedAttempt calls the AttemptDone functions.
func (k *call) tracedAttempt(a *attempt) {
	if len(k.client.traces) == 0 {
		return
	}
	info := AttemptDoneInfo{
		Call:       a.describe(),
		Duration:   time.Since(a.ready),
		StatusCode: a.statusCode,
		RateLimit:  a.rateLimit,
		RetryAfter: a.retryAfter,
		Sent:       a.sent,
		Err:        a.err,
	}
	trace(k.ctx.Context, k, info, func(t *ClientTrace) func(context.Context, AttemptDoneInfo) { return t.AttemptDone })
}
