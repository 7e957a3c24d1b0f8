package petstore

import (
	"context"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
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
// with the same limiter, since that call might wait for the response to this one.
type ClientTrace struct {
	// CallStart is called first in each call. It returns the context for the call and its requests,
	// which is ctx or one with more values; nil means ctx. The call ends with the context of the
	// caller, whatever CallStart returns.
	CallStart func(ctx context.Context, c Call) context.Context
	// CallDone is called at the end of the call, also if it panicked. ctx is that of the call.
	CallDone func(ctx context.Context, info CallDoneInfo)
	// WaitStart is called when the call begins to wait before a request.
	WaitStart func(ctx context.Context, c Call, w ratelimit.Wait)
	// WaitDone is called once for each WaitStart.
	WaitDone func(ctx context.Context, c Call, w ratelimit.Wait)
	// AttemptStart is called before a request is passed to the transport.
	AttemptStart func(ctx context.Context, c Call)
	// AttemptDone is called when the response has been read, or the request has failed.
	AttemptDone func(ctx context.Context, info AttemptDoneInfo)
	// LimitClosed is called once for each lockout of a key: after a 429, when the day is used up, or
	// when a call is refused because its wait would be too long. It is called again if another limit
	// closes the key for longer meanwhile, such as a ban. c is the call whose response or refusal
	// showed it.
	LimitClosed func(ctx context.Context, c Call, l ratelimit.Lockout)
	// LimitOpened is called after LimitClosed, when the service has accepted a request again. l is
	// the last lockout.
	LimitOpened func(ctx context.Context, c Call, l ratelimit.Lockout)
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

// Call describes the API call that a request belongs to. [CallFromContext] returns it. It contains
// nothing secret, and Call values can be compared with ==.
type Call struct {
	// ID is random, sixteen hexadecimal digits, the same for all requests of the call. It is the
	// CallID of errors and the call_id of the log.
	ID string
	// BaseURL is the base URL of the client, without a trailing slash.
	BaseURL string
	// Operation is the operationId of the document, such as listPets (section 4).
	Operation string
	// Method is the HTTP method.
	Method string
	// Template is the path of the request with names of parameters instead of values:
	// /v1/pets/{petId}.
	Template string
	// Attempt is the number of the attempt within the call, starting at 1; 0 before the first.
	Attempt int
	// Waited is the time that the call has waited for the rate limit so far.
	Waited time.Duration
	// KeyID identifies the API key: a one-way hash of it, the same in all processes, so that they can
	// share its budget. It is empty before the key is known.
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
	case *description:
		return found.describe(), true
	case *Call:
		return *found, true
	}
	return Call{}, false
}

// callKey is the context's key for the *description of a call. In the context of the function of
// WithAPIKeyFunc, it is the key for a *Call that describes the attempt to come.
type callKey struct{}

// each calls f for each trace, in the order of the options. If f panics for one trace, it is still
// called for the later ones: a trace that was told of the start of something is also told of its
// end.
func each(traces []*ClientTrace, f func(t *ClientTrace)) {
	if len(traces) == 0 {
		return
	}
	defer each(traces[1:], f)
	f(traces[0])
}

// startTraces calls the CallStart functions.
func (k *call) startTraces() {
	c, own := k.describe(), k.ctx
	each(k.client.traces, func(t *ClientTrace) {
		if t.CallStart == nil {
			return
		}
		if changed := t.CallStart(k.ctx, c); changed != nil {
			if changed.Done() != own.Done() || changed.Value(callKey{}) != any(&k.description) {
				changed = &valuesContext{own, context.WithoutCancel(changed)}
			}
			k.ctx = changed
		}
	})
}

// valuesContext ends when the context of the caller does. Its values are those of the context that a
// CallStart returned and, where that has none, those of the caller's context.
type valuesContext struct {
	context.Context
	values context.Context
}

// Value looks in the context that CallStart returned, then in that of the caller. The call itself
// is always taken from that of the caller, since a CallStart may return the context of another
// call.
func (c *valuesContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return c.Context.Value(key)
	}
	if v := c.values.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

// doneTraces calls the CallDone functions.
func (k *call) doneTraces(err error) {
	info := CallDoneInfo{k.describe(), time.Since(k.begun), err}
	each(k.client.traces, func(t *ClientTrace) {
		if t.CallDone != nil {
			t.CallDone(k.ctx, info)
		}
	})
}

// WaitStart implements [ratelimit.Observer].
func (k *call) WaitStart(w ratelimit.Wait) {
	k.observe(func(t *ClientTrace, c Call) {
		if t.WaitStart != nil {
			t.WaitStart(k.ctx, c, w)
		}
	})
}

// WaitDone implements [ratelimit.Observer].
func (k *call) WaitDone(w ratelimit.Wait) {
	k.observe(func(t *ClientTrace, c Call) {
		if t.WaitDone != nil {
			t.WaitDone(k.ctx, c, w)
		}
	})
}

// LimitClosed implements [ratelimit.Observer].
func (k *call) LimitClosed(l ratelimit.Lockout) {
	k.observe(func(t *ClientTrace, c Call) {
		if t.LimitClosed != nil {
			t.LimitClosed(k.ctx, c, l)
		}
	})
}

// LimitOpened implements [ratelimit.Observer].
func (k *call) LimitOpened(l ratelimit.Lockout) {
	k.observe(func(t *ClientTrace, c Call) {
		if t.LimitOpened != nil {
			t.LimitOpened(k.ctx, c, l)
		}
	})
}

// observe calls f for each trace.
func (k *call) observe(f func(t *ClientTrace, c Call)) {
	if len(k.client.traces) > 0 {
		c := k.describe()
		each(k.client.traces, func(t *ClientTrace) { f(t, c) })
	}
}

// attemptStart calls the AttemptStart functions.
func (k *call) attemptStart() {
	k.observe(func(t *ClientTrace, c Call) {
		if t.AttemptStart != nil {
			t.AttemptStart(k.ctx, c)
		}
	})
}

// attemptDone calls the AttemptDone functions.
func (a *attempt) attemptDone() {
	if len(a.call.client.traces) == 0 {
		return
	}
	info := AttemptDoneInfo{
		Call:       a.call.describe(),
		Duration:   time.Since(a.ready),
		StatusCode: a.Status,
		RateLimit:  a.limits.Window,
		RetryAfter: a.limits.RetryAfter,
		Sent:       a.Sent,
		Err:        a.err,
	}
	each(a.call.client.traces, func(t *ClientTrace) {
		if t.AttemptDone != nil {
			t.AttemptDone(a.call.ctx, info)
		}
	})
}

// WithTrace makes the Client call the functions of a copy of t during each call. With several
// WithTrace options, the functions are called in the order of the options.
func WithTrace(t *ClientTrace) Option {
	var trace ClientTrace
	if t != nil {
		trace = *t
	}
	return forClient("WithTrace", when(t == nil, "is nil"), func(c *clientConfig) {
		c.traces = append(c.traces, &trace)
	})
}
