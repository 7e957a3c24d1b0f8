package petstore

import (
	"context"
	"time"
)

// ClientTrace is a set of functions that a [Client] calls on the way of each API call, in the manner of
// [net/http/httptrace.ClientTrace]. Each may be nil. They are called on the goroutine of the call, one at a time
// for one call, and for many calls at once: they must be safe for concurrent use, and quick, since the call waits
// for them.
//
// What they are given holds nothing secret, and may be kept.
type ClientTrace struct {
	// CallStart is called before anything is done for a call. The context that it returns, ctx or one made from
	// it, is that of the call and its requests; nil stands for ctx.
	CallStart func(ctx context.Context, c Call) context.Context
	// CallDone is called when the call is over, also if it panicked. ctx is that of the call.
	CallDone func(ctx context.Context, info CallDoneInfo)
	// WaitStart is called when the call begins to wait at the gate before a request, and WaitDone when that
	// wait is over. A [Limiter] that does not call [StartWait] waits unseen.
	WaitStart func(ctx context.Context, info WaitStartInfo)
	// WaitDone is called once for each WaitStart.
	WaitDone func(ctx context.Context, info WaitDoneInfo)
	// AttemptStart is called before a request is handed to the transport.
	AttemptStart func(ctx context.Context, c Call)
	// AttemptDone is called when the response has been read, or has failed.
	AttemptDone func(ctx context.Context, info AttemptDoneInfo)
	// GateClosed is called once for each closure of the rate limit that the client notices: at a 429, or when a
	// call is refused since the wait would be too long. Calls that wait for the next window close nothing.
	GateClosed func(ctx context.Context, info GateInfo)
	// GateOpened is called when a request has got through after GateClosed. info.Until is when it was expected.
	GateOpened func(ctx context.Context, info GateInfo)
}

// CallDoneInfo is what [ClientTrace].CallDone is given.
type CallDoneInfo struct {
	// Call is the call as it was at its end.
	Call Call
	// Duration is how long it took, waits included.
	Duration time.Duration
	// Err is the error that the caller gets, nil for a success.
	Err error
}

// WaitStartInfo is what [ClientTrace].WaitStart is given.
type WaitStartInfo struct {
	// Call is the call that waits.
	Call Call
	// Wait is what it waits for, as far as that is known.
	Wait Wait
}

// WaitDoneInfo is what [ClientTrace].WaitDone is given.
type WaitDoneInfo struct {
	// Call is the call that waited.
	Call Call
	// Wait is what it waited for when the wait began.
	Wait Wait
	// Duration is how long it waited.
	Duration time.Duration
}

// AttemptDoneInfo is what [ClientTrace].AttemptDone is given.
type AttemptDoneInfo struct {
	// Call is the call; its Attempt is the number of this request.
	Call Call
	// Duration is how long the request took, its response's body included.
	Duration time.Duration
	// StatusCode is the HTTP status code, 0 if there was no response.
	StatusCode int
	// RateLimit is what the X-RateLimit headers said, zero if there were none.
	RateLimit RateLimit
	// RetryAfter is how long the response asked the client to stay away; 0 if it did not.
	RetryAfter time.Duration
	// Sent reports that the request may have been written.
	Sent bool
	// Err is why there is no response, or only a part of one; nil if there is one, whatever its status.
	Err error
}

// GateInfo is what [ClientTrace].GateClosed and GateOpened are given.
type GateInfo struct {
	// Call is the call that noticed.
	Call Call
	// Scope is which limit seems to have closed the gate; empty if that is not known.
	Scope LimitScope
	// Until is when it opens, by the local clock; zero if that is not known.
	Until time.Time
	// Waiting is the number of the client's calls that wait at this moment.
	Waiting int
}

// traceCall reports the begin of the call, and returns what reports its end.
func (k *call) traceCall() func(error) {
	traces := k.client.traces
	if len(traces) == 0 {
		return func(error) {}
	}
	begun := time.Now()
	for _, t := range traces {
		if t.CallStart == nil {
			continue
		}
		if ctx := t.CallStart(k.ctx.Context, k.describe()); ctx != nil {
			k.ctx.Context = ctx //nolint:fatcontext // once for each trace
		}
	}
	ctx := k.ctx.Context
	return func(err error) {
		info := CallDoneInfo{k.describe(), time.Since(begun), err}
		for _, t := range traces {
			if t.CallDone != nil {
				t.CallDone(ctx, info)
			}
		}
	}
}

// traceAttempt reports that a is about to be sent.
func (k *call) traceAttempt(a *attempt) {
	if len(k.client.traces) == 0 {
		return
	}
	c := a.describe()
	for _, t := range k.client.traces {
		if t.AttemptStart != nil {
			t.AttemptStart(k.ctx.Context, c)
		}
	}
}

// tracedAttempt reports what came of a.
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
	for _, t := range k.client.traces {
		if t.AttemptDone != nil {
			t.AttemptDone(k.ctx.Context, info)
		}
	}
}
