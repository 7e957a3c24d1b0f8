package petstore

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// ClientTrace is a set of functions that a [Client] calls during each API call, similar to
// [net/http/httptrace.ClientTrace]. Each may be nil. The functions are called on the goroutine of
// the call, and at the same time for different calls. They must be quick, since the call waits for
// them. [CallFromContext] returns the call from their context. Their arguments contain nothing
// secret; the functions may keep them.
//
// WaitDone and AttemptStart are called while the call has its permit. They must not make a call
// with the same limiter, since that call might wait for the response to this one.
type ClientTrace struct {
	// CallStart is called first in each call. It returns the context for the call and its requests,
	// which must be derived from ctx; nil means ctx.
	CallStart func(ctx context.Context, c Call) context.Context
	// CallDone is called at the end of the call. ctx is that of the call.
	CallDone func(ctx context.Context, info CallDoneInfo)
	// WaitStart is called when the call begins to wait before a request.
	WaitStart func(ctx context.Context, c Call, w ratelimit.Wait)
	// WaitDone is called once for each WaitStart.
	WaitDone func(ctx context.Context, c Call, w ratelimit.Wait)
	// AttemptStart is called before a request is passed to the transport.
	AttemptStart func(ctx context.Context, c Call)
	// AttemptContext is called after AttemptStart. It returns the context for the request, which must be
	// derived from ctx; nil means ctx. It may add headers for the request to header, such as the ID of
	// a span; header does not show those of the client, which it cannot replace.
	AttemptContext func(ctx context.Context, c Call, header http.Header) context.Context
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
	// Attempt is the number of the attempt within the call, starting at 1; 0 before the first. An
	// attempt begins when the client asks for its key and its permit.
	Attempt int
	// KeyID identifies the API key: a one-way hash of it, the same in all processes, so that they can
	// share its budget. With [WithAPIKeyFunc], it is empty before the first key is known.
	KeyID string
	// Background reports whether the call is background work; see [WithBackground].
	Background bool
}

// CallFromContext returns the call that ctx belongs to; false if there is none. ctx is the context
// that a transport, a [Limiter], the function of [WithAPIKeyFunc] or a [ClientTrace] gets, or one
// derived from it. CallFromContext is safe for concurrent use, also after the end of the call.
func CallFromContext(ctx context.Context) (Call, bool) {
	c, ok := ctx.Value(callKey{}).(Call)
	return c, ok
}

// callKey is the context's key for the Call.
type callKey struct{}

// describe returns a context with the call as it is now.
func (k *call) describe(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, k.info)
}

// WithTrace makes the Client call the functions of a copy of t during each call. With several
// WithTrace options, the functions are called in the order of the options.
func WithTrace(t *ClientTrace) Option {
	return option{"WithTrace", when(t == nil, "is nil"), func(c *config) {
		trace := *t
		c.traces = append(c.traces, &trace)
	}, false}
}

// callStart calls the CallStart functions. Each one gets the context of the one before it.
func (k *call) callStart() {
	for _, t := range k.client.traces {
		if t.CallStart != nil {
			k.ctx = cmp.Or(t.CallStart(k.describe(k.ctx), k.info), k.ctx)
		}
	}
}

// attemptContext calls the AttemptContext functions. Each one gets the context of the one before
// it. It returns the last context, and the header of the request: that of the client, and what they
// add.
func (k *call) attemptContext(ctx context.Context) (context.Context, http.Header) {
	header := k.config.header.Clone()
	for _, t := range k.client.traces {
		if t.AttemptContext == nil {
			continue
		}
		added := http.Header{}
		ctx = cmp.Or(t.AttemptContext(ctx, k.info, added), ctx)
		for name, values := range added {
			if header[name] == nil && !slices.Contains(reservedHeaders, name) {
				header[name] = values
			}
		}
	}
	return ctx, header
}

// eachTrace calls f with each trace and the context of the call.
func (k *call) eachTrace(f func(ctx context.Context, t *ClientTrace)) {
	if len(k.client.traces) == 0 {
		return
	}
	ctx := k.describe(k.ctx)
	for _, t := range k.client.traces {
		f(ctx, t)
	}
}

func (k *call) callDone(err error) {
	k.eachTrace(func(ctx context.Context, t *ClientTrace) {
		if t.CallDone != nil {
			t.CallDone(ctx, CallDoneInfo{k.info, time.Since(k.started), err})
		}
	})
}

func (k *call) attemptStart() {
	k.eachTrace(func(ctx context.Context, t *ClientTrace) {
		if t.AttemptStart != nil {
			t.AttemptStart(ctx, k.info)
		}
	})
}

func (k *call) attemptDone(begun time.Time, x *exchange) {
	o := &x.outcome
	k.eachTrace(func(ctx context.Context, t *ClientTrace) {
		if t.AttemptDone != nil {
			t.AttemptDone(ctx, AttemptDoneInfo{k.info, time.Since(begun), o.StatusCode, o.Window, o.RetryAfter, x.sent, x.err})
		}
	})
}

// A call is the [ratelimit.Observer] of its requests.

func (k *call) WaitStart(w ratelimit.Wait) {
	k.eachTrace(func(ctx context.Context, t *ClientTrace) {
		if t.WaitStart != nil {
			t.WaitStart(ctx, k.info, w)
		}
	})
}

func (k *call) WaitDone(w ratelimit.Wait) {
	k.eachTrace(func(ctx context.Context, t *ClientTrace) {
		if t.WaitDone != nil {
			t.WaitDone(ctx, k.info, w)
		}
	})
}

func (k *call) LimitClosed(l ratelimit.Lockout) {
	k.eachTrace(func(ctx context.Context, t *ClientTrace) {
		if t.LimitClosed != nil {
			t.LimitClosed(ctx, k.info, l)
		}
	})
}

func (k *call) LimitOpened(l ratelimit.Lockout) {
	k.eachTrace(func(ctx context.Context, t *ClientTrace) {
		if t.LimitOpened != nil {
			t.LimitOpened(ctx, k.info, l)
		}
	})
}
