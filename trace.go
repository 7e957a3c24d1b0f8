package petstore

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// ClientTrace is a set of functions that a [Client] calls during each API call, similar to
// [net/http/httptrace.ClientTrace]. Each may be nil. The functions are called on the goroutine of
// the call, and at the same time for different calls. They must be quick, since the call waits for
// them. [CallFromContext] returns the call from their context. Their arguments contain nothing
// secret; the functions may keep them.
//
// A panic in a function ends the call, and reaches its caller. The functions of other traces for
// the same event, and the functions for its end, are still called.
//
// WaitDone and AttemptStart are called while the call has its permit. They must not make a call
// with the same limiter: it might wait for the response to this one.
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
	// LimitClosed is called once for each lockout of a key: after a 429, or when a call is
	// refused because its wait would be too long. It is called again if another limit closes the
	// key for longer meanwhile, such as a ban.
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
	// RateLimit is the rate limit from the X-RateLimit headers.
	RateLimit RateLimit
	// RetryAfter is the time from Retry-After; 0 without a valid one.
	RetryAfter time.Duration
	// Sent reports whether the request may have been written.
	Sent bool
	// Err is the reason why there is no complete response; nil if there is one, with any status.
	Err error
}

// LimitInfo is the argument of [ClientTrace].LimitClosed and LimitOpened.
type LimitInfo struct {
	// Call is the call that was refused, or whose response closed or opened the limit.
	Call Call
	// Scope is the limit that seems to have closed it; empty if not known.
	Scope LimitScope
	// Until is the time at which the limit opens, by the local clock; zero if not known.
	Until time.Time
}

// Call describes the API call that a request belongs to. [CallFromContext] returns it. It contains
// nothing secret, and Call values can be compared with ==.
type Call struct {
	// ID is a random number, the same for all requests of the call. The log shows it as call_id, in
	// hexadecimal digits.
	ID uint64
	// BaseURL is the base URL of the client, without a trailing slash.
	BaseURL string
	// Operation is the operationId of the document, such as listPets (section 4).
	Operation string
	// Method is the HTTP method.
	Method string
	// Template is the path of the request with names of parameters instead of values:
	// /v1/pets/{petId}.
	Template string
	// Attempt is the number of the request within the call, starting at 1; 0 before the first.
	Attempt int
	// Waited is the time that the call has waited for the rate limit so far.
	Waited time.Duration
	// KeyID identifies the API key within this process, as a hash with a salt of the process. Two
	// clients with the same key have the same KeyID. It is empty before the key is known.
	KeyID string
	// KeyRefused reports whether the service answered the call's last request with 401, for the
	// function of [WithAPIKeyFunc].
	KeyRefused bool
	// Background reports whether the call is background work; see [WithBackground].
	Background bool
}

// CallFromContext returns the call that ctx belongs to; false if there is none. ctx is the context
// that a transport, a [Limiter], the function of [WithAPIKeyFunc] or a [ClientTrace] gets, or one
// derived from it. CallFromContext is safe for concurrent use, also after the end of the call.
func CallFromContext(ctx context.Context) (Call, bool) {
	switch found := ctx.Value(callKey{}).(type) {
	case *call:
		return found.describe(), true
	case *Call:
		return *found, true
	}
	return Call{}, false
}

// callKey is the context's key for the *call or, in the context of an attempt, for the *Call that
// describes that attempt.
type callKey struct{}

// Wait describes the wait of a call before one of its requests.
type Wait struct {
	// Call is the call that waits. A [Limiter] need not set it.
	Call Call
	// Reason is the reason at the start of the wait; it may change during the wait.
	Reason WaitReason
	// Until is the expected end of the wait, by the local clock; zero if it depends on a response.
	Until time.Time
	// Waiting is the number of calls in the queue, including this one.
	Waiting int
	// Duration is the length of the wait in WaitDone; 0 in WaitStart.
	Duration time.Duration
}

// WaitReason is what a call waits for. A [Limiter] may have reasons of its own.
type WaitReason string

// The reasons of the client and of its own limiter.
const (
	WaitMinute     WaitReason = "minute"      // the minute's window is used up, or a 429 closed it
	WaitDay        WaitReason = "day"         // the day's window is used up, or a 429 closed it
	WaitBan        WaitReason = "ban"         // the key seems to be banned
	WaitResponse   WaitReason = "response"    // another request must get its response first
	WaitBackground WaitReason = "background"  // the window is used up, except for the reserve
	WaitBackoff    WaitReason = "backoff"     // the pause after a failed attempt
	WaitRetryAfter WaitReason = "retry_after" // the Retry-After of a 429 or 503; no limit is known
)

// ofAll returns a function that calls one function of each trace, in the order of the options, and
// that of the later ones also if one panics: a trace that got the start of something gets its end.
func ofAll[T any](
	traces []*ClientTrace, function func(*ClientTrace) func(context.Context, T),
) func(context.Context, T) {
	all := func(context.Context, T) {}
	for _, t := range slices.Backward(traces) {
		if first, others := function(t), all; first != nil {
			all = func(ctx context.Context, info T) {
				defer others(ctx, info)
				first(ctx, info)
			}
		}
	}
	return all
}

// joined returns a trace whose functions, but for CallStart, call those of all traces.
func joined(traces []*ClientTrace) ClientTrace {
	return ClientTrace{
		CallDone:     ofAll(traces, func(t *ClientTrace) func(context.Context, CallDoneInfo) { return t.CallDone }),
		WaitStart:    ofAll(traces, func(t *ClientTrace) func(context.Context, Wait) { return t.WaitStart }),
		WaitDone:     ofAll(traces, func(t *ClientTrace) func(context.Context, Wait) { return t.WaitDone }),
		AttemptStart: ofAll(traces, func(t *ClientTrace) func(context.Context, Call) { return t.AttemptStart }),
		AttemptDone:  ofAll(traces, func(t *ClientTrace) func(context.Context, AttemptDoneInfo) { return t.AttemptDone }),
		LimitClosed:  ofAll(traces, func(t *ClientTrace) func(context.Context, LimitInfo) { return t.LimitClosed }),
		LimitOpened:  ofAll(traces, func(t *ClientTrace) func(context.Context, LimitInfo) { return t.LimitOpened }),
	}
}

// callStart calls the CallStart functions of traces, as the function of ofAll calls the others. It
// sets ctx to the context of the last one.
func callStart(ctx *context.Context, traces []*ClientTrace, c Call) {
	if len(traces) == 0 {
		return
	}
	defer callStart(ctx, traces[1:], c)
	if start := traces[0].CallStart; start != nil {
		if changed := start(*ctx, c); changed != nil {
			*ctx = changed // once for each trace
		}
	}
}

// reportLimit reports to the traces if the response closes or opens the rate limit.
func (a *attempt) reportLimit() {
	switch c := a.call.client; {
	case len(c.traces) == 0 || a.response.StatusCode == 0:
	case a.response.StatusCode == http.StatusTooManyRequests:
		a.reportLockout(LimitInfo{Scope: a.scope, Until: a.opens}, -1)
	default:
		info, ended := a.keyState.lockout.open(a.ready, a.response.RateLimit.Remaining, a.lockouts)
		if ended {
			info.Call = a.call.describe()
			c.trace.LimitOpened(a.call.ctx, info)
		}
	}
}

// reportLockout reports to the traces if the response to a, or the refusal of a, begins a lockout
// of its key. left is what the limit had left for a refusal, else -1.
func (a *attempt) reportLockout(info LimitInfo, left int) {
	c := a.call.client
	info.Call = a.call.describe()
	if a.keyState.lockout.close(info, left, a.lockouts) {
		c.trace.LimitClosed(a.call.ctx, info)
	}
}

// reportDone reports the end of the attempt to the traces.
func (a *attempt) reportDone() {
	a.call.client.trace.AttemptDone(a.call.ctx, AttemptDoneInfo{
		Call:       a.call.describe(),
		Duration:   time.Since(a.ready),
		StatusCode: a.response.StatusCode,
		RateLimit:  a.response.RateLimit,
		RetryAfter: a.response.RetryAfter,
		Sent:       a.sent,
		Err:        a.err,
	})
}
