package petstore

import (
	"context"
	"time"
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
	// are reported only if it calls [StartWait].
	WaitStart func(ctx context.Context, info WaitStartInfo)
	// WaitDone is called once for each WaitStart.
	WaitDone func(ctx context.Context, info WaitDoneInfo)
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

// trace calls one function of each trace, in the order of the options, and of the later ones also
// if one panics: a trace that got the start of something gets its end.
func trace[T any](ctx context.Context, k *call, info T, function func(*ClientTrace) func(context.Context, T)) {
	traceAll(ctx, k.client.traces, info, function)
}

func traceAll[T any](
	ctx context.Context, traces []*ClientTrace, info T, function func(*ClientTrace) func(context.Context, T),
) {
	if len(traces) == 0 {
		return
	}
	defer traceAll(ctx, traces[1:], info, function)
	if f := function(traces[0]); f != nil {
		f(ctx, info)
	}
}

// tracedCall is what the functions of a call's traces get.
type tracedCall struct {
	callContext                 // context of the first CallStart
	last        context.Context // of all CallStart so far; without the timeout of WithCallTimeout
	begun       time.Time
}

// traceStart calls the CallStart functions.
func (k *call) traceStart() {
	if traces := k.client.traces; len(traces) > 0 {
		k.traced = &tracedCall{callContext: callContext{k.ctx.Context, k}, begun: time.Now()}
		k.traced.last = &k.traced.callContext
		k.callStart(traces)
	}
}

// callStart calls the CallStart functions of traces, as trace calls the others.
func (k *call) callStart(traces []*ClientTrace) {
	if len(traces) == 0 {
		k.ctx.Context = k.traced.last //nolint:fatcontext // each trace wraps the context of the one before
		return
	}
	defer k.callStart(traces[1:])
	if start := traces[0].CallStart; start != nil {
		if ctx := start(k.traced.last, k.describe()); ctx != nil {
			k.traced.last = ctx
		}
	}
}

// traceDone calls the CallDone functions.
func (k *call) traceDone(err error) {
	if t := k.traced; t != nil {
		info := CallDoneInfo{k.describe(), time.Since(t.begun), err}
		trace(t.last, k, info, func(t *ClientTrace) func(context.Context, CallDoneInfo) { return t.CallDone })
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
