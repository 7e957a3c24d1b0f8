package petstore

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/wire"
	"github.com/petstore/petstore-go/ratelimit"
)

// ClientTrace is a set of functions that a [Client] calls during each API call, similar to
// [net/http/httptrace.ClientTrace]. Each may be nil. The functions are called on the goroutine of
// the call; for different calls, they are called concurrently. They must be quick, since the call
// waits for them. [CallFromContext] returns the call from their context. Their arguments contain
// nothing secret, and the functions may keep the arguments.
//
// AttemptStart and AttemptContext, and WaitDone after a wait for the limiter, are called while the
// call holds its permit. They must not make a call with the same limiter: it might wait for the
// response to the outer call.
type ClientTrace struct {
	// CallStart is called first in each call. It returns the context for the call and its requests,
	// which must be derived from ctx; nil means ctx.
	CallStart func(ctx context.Context, c Call) context.Context
	// CallDone is called at the end of the call. ctx is derived from the context of CallStart.
	CallDone func(ctx context.Context, info CallDoneInfo)
	// WaitStart is called when the call begins to wait before a request.
	WaitStart func(ctx context.Context, c Call, w ratelimit.Wait)
	// WaitDone is called once for each WaitStart.
	WaitDone func(ctx context.Context, c Call, w ratelimit.Wait)
	// AttemptStart is called before a request is passed to the transport.
	AttemptStart func(ctx context.Context, c Call)
	// AttemptContext is called after AttemptStart. It returns the context for the request, which
	// must be derived from ctx; nil means ctx. It may add headers for the request to header, such
	// as the ID of a span. It can neither see nor replace the headers of the client.
	AttemptContext func(ctx context.Context, c Call, header http.Header) context.Context
	// AttemptDone is called when the response has been read, or the request has failed.
	AttemptDone func(ctx context.Context, info AttemptDoneInfo)
	// LimitClosed is called once for each lockout of a key: after a 429, when the day is used up,
	// or when a call is refused because its wait would be too long. It is called again if another
	// limit, such as a ban, closes the key for longer. c is the call whose response or refusal
	// showed the lockout.
	LimitClosed func(ctx context.Context, c Call, l ratelimit.Lockout)
	// LimitOpened is called when the service has accepted a request after the lockout l.
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
	// Call is the call. Its field Attempt is the number of the attempt that is done.
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

// ErrorType returns the class of Err, which the log has as error_type; empty for a success. The
// class is the status code of the response, if Err is about one. Otherwise it is one of canceled
// (the caller's context was cancelled), stopped (by [WithStop]), timeout, rate_limited (given up
// without a 429), invalid_response, invalid_argument, connection_refused, connection_reset,
// connection_closed, name_resolution or certificate. For any other error, it is _OTHER.
func (i CallDoneInfo) ErrorType() string { return errorType(i.Err) }

// ErrorType returns the class of the failure as [CallDoneInfo].ErrorType does: the status code of a
// response of 400 or above, else the class of Err.
func (i AttemptDoneInfo) ErrorType() string {
	if i.StatusCode >= http.StatusBadRequest {
		return strconv.Itoa(i.StatusCode)
	}
	return errorType(i.Err)
}

// errorType returns the class of an error; empty for none. An error may match several cases. The
// first of them is what ended the call.
func errorType(err error) string {
	matches := func(target error) bool { return errors.Is(err, target) }
	response, hasStatus := errors.AsType[*APIError](err)
	switch {
	case err == nil:
		return ""
	case matches(ErrInvalidArgument):
		return "invalid_argument"
	case matches(ErrStopped):
		return "stopped"
	case matches(context.Canceled):
		return "canceled"
	case matches(context.DeadlineExceeded), matches(ErrTimeout):
		return "timeout"
	case hasStatus:
		return strconv.Itoa(response.StatusCode)
	case matches(ErrRateLimited):
		return "rate_limited"
	case matches(ErrInvalidResponse):
		return "invalid_response"
	}
	return wire.Class(err)
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
	// KeyID is a one-way hash of the API key, the same in all processes, so that they can share the
	// budget of the key. With [WithAPIKeyFunc], it is empty before the first key is known.
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

// emptyTrace has a function that does nothing in each field, except in AttemptContext: that field
// stays nil, so that no http.Header is allocated for it.
var emptyTrace = ClientTrace{
	CallStart:    func(ctx context.Context, _ Call) context.Context { return ctx },
	CallDone:     func(context.Context, CallDoneInfo) {},
	WaitStart:    func(context.Context, Call, ratelimit.Wait) {},
	WaitDone:     func(context.Context, Call, ratelimit.Wait) {},
	AttemptStart: func(context.Context, Call) {},
	AttemptDone:  func(context.Context, AttemptDoneInfo) {},
	LimitClosed:  func(context.Context, Call, ratelimit.Lockout) {},
	LimitOpened:  func(context.Context, Call, ratelimit.Lockout) {},
}

// complete returns a copy of t with the functions of emptyTrace in place of those that are nil.
func (t ClientTrace) complete() *ClientTrace {
	functions := reflect.ValueOf(&t).Elem()
	for i := range functions.NumField() {
		if functions.Field(i).IsNil() {
			functions.Field(i).Set(reflect.ValueOf(emptyTrace).Field(i))
		}
	}
	return &t
}

// withCall returns a context with the call as it is now.
func (k *call) withCall(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, k.info)
}

// each calls report with each trace and the context of the call.
func (k *call) each(report func(ctx context.Context, trace *ClientTrace)) {
	if len(k.client.traces) == 0 {
		return
	}
	ctx := k.withCall(k.ctx)
	for _, trace := range k.client.traces {
		report(ctx, trace)
	}
}

// attemptContext returns the context of a request, and adds the headers of the traces to header.
// Each trace gets the context of the one before it.
func (k *call) attemptContext(ctx context.Context, header http.Header) context.Context {
	for _, trace := range k.client.traces {
		if trace.AttemptContext == nil {
			continue
		}
		added := http.Header{}
		ctx = cmp.Or(trace.AttemptContext(ctx, k.info, added), ctx)
		for name, values := range added {
			name = http.CanonicalHeaderKey(name)
			if header[name] == nil && !credential.IsReserved(name) {
				header[name] = values
			}
		}
	}
	return ctx
}

func (k *call) WaitStart(w ratelimit.Wait) {
	k.each(func(ctx context.Context, trace *ClientTrace) { trace.WaitStart(ctx, k.info, w) })
}

func (k *call) WaitDone(w ratelimit.Wait) {
	k.each(func(ctx context.Context, trace *ClientTrace) { trace.WaitDone(ctx, k.info, w) })
}

func (k *call) LimitClosed(l ratelimit.Lockout) {
	k.each(func(ctx context.Context, trace *ClientTrace) { trace.LimitClosed(ctx, k.info, l) })
}

func (k *call) LimitOpened(l ratelimit.Lockout) {
	k.each(func(ctx context.Context, trace *ClientTrace) { trace.LimitOpened(ctx, k.info, l) })
}
