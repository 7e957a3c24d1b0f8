package petstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
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
	return set("WithTrace", when(t == nil, "is nil"), func(c *config) {
		trace := *t
		c.traces = append(c.traces, &trace)
	})
}

// callStart calls the CallStart functions. Each one gets the context of the one before it.
func (k *call) callStart() {
	for _, t := range k.client.traces {
		if t.CallStart != nil {
			k.ctx = cmp.Or(t.CallStart(k.describe(k.ctx), k.info), k.ctx)
		}
	}
}

// callDone calls the CallDone functions.
func (k *call) callDone(err error) {
	k.observe(func(ctx context.Context, t *ClientTrace) {
		if t.CallDone != nil {
			t.CallDone(ctx, CallDoneInfo{k.info, time.Since(k.started), err})
		}
	})
}

// attemptStart calls the AttemptStart functions.
func (k *call) attemptStart() {
	k.observe(func(ctx context.Context, t *ClientTrace) {
		if t.AttemptStart != nil {
			t.AttemptStart(ctx, k.info)
		}
	})
}

// attemptDone calls the AttemptDone functions.
func (k *call) attemptDone(x *exchange, begun time.Time) {
	k.observe(func(ctx context.Context, t *ClientTrace) {
		if t.AttemptDone != nil {
			t.AttemptDone(ctx, AttemptDoneInfo{
				k.info, time.Since(begun), x.outcome.StatusCode, x.outcome.Window, x.outcome.RetryAfter, x.sent, x.err,
			})
		}
	})
}

// WaitStart implements [ratelimit.Observer].
func (k *call) WaitStart(w ratelimit.Wait) {
	k.observe(func(ctx context.Context, t *ClientTrace) {
		if t.WaitStart != nil {
			t.WaitStart(ctx, k.info, w)
		}
	})
}

// WaitDone implements [ratelimit.Observer].
func (k *call) WaitDone(w ratelimit.Wait) {
	k.observe(func(ctx context.Context, t *ClientTrace) {
		if t.WaitDone != nil {
			t.WaitDone(ctx, k.info, w)
		}
	})
}

// LimitClosed implements [ratelimit.Observer].
func (k *call) LimitClosed(l ratelimit.Lockout) {
	k.observe(func(ctx context.Context, t *ClientTrace) {
		if t.LimitClosed != nil {
			t.LimitClosed(ctx, k.info, l)
		}
	})
}

// LimitOpened implements [ratelimit.Observer].
func (k *call) LimitOpened(l ratelimit.Lockout) {
	k.observe(func(ctx context.Context, t *ClientTrace) {
		if t.LimitOpened != nil {
			t.LimitOpened(ctx, k.info, l)
		}
	})
}

// observe calls f for each trace.
func (k *call) observe(f func(ctx context.Context, t *ClientTrace)) {
	if len(k.client.traces) == 0 {
		return
	}
	ctx := k.describe(k.ctx)
	for _, t := range k.client.traces {
		f(ctx, t)
	}
}

// ErrorType returns the class of Err, which the log has as error_type; empty for a success. It is
// the status code of a response, else one of canceled (the caller's context was cancelled), stopped
// (by [WithStop]), timeout, rate_limited (given up without a 429), invalid_response,
// invalid_argument, connection_refused, connection_reset, connection_closed, name_resolution or
// certificate. For any other error it is the Go type of the cause, or _OTHER if that type says
// nothing.
func (i CallDoneInfo) ErrorType() string { return errorType(i.Err) }

// ErrorType returns the class of the failure as [CallDoneInfo].ErrorType does: the status code of a
// response of 400 or above, else the class of Err.
func (i AttemptDoneInfo) ErrorType() string {
	if i.StatusCode >= http.StatusBadRequest {
		return strconv.Itoa(i.StatusCode)
	}
	return errorType(i.Err)
}

// errorTypes are the classes of errors. An error may match several of them: the first row that
// matches is what ended the call.
var errorTypes = []struct {
	class  string
	target error // nil for the status of an APIError
}{
	{"invalid_argument", ErrInvalidArgument},
	{"stopped", ErrStopped},
	{"canceled", context.Canceled},
	{"timeout", context.DeadlineExceeded},
	{"timeout", ErrTimeout},
	{"status", nil},
	{"rate_limited", ErrRateLimited},
	{"invalid_response", ErrInvalidResponse},
	{"connection_refused", syscall.ECONNREFUSED},
	// On Windows, the error of the system has another number than the constant.
	{"connection_refused", syscall.Errno(10061)},
	{"connection_reset", syscall.ECONNRESET},
	{"connection_reset", syscall.Errno(10054)}, // on Windows
	{"connection_closed", io.EOF},
	{"connection_closed", io.ErrUnexpectedEOF},
}

// errorType returns the class of an error: by errorTypes, else by the types of package net and
// crypto/tls, else the name of the type itself. It never returns a part of the text, which would
// make a new class of each error.
func errorType(err error) string {
	if err == nil {
		return ""
	}
	response, hasStatus := errors.AsType[*APIError](err)
	for _, row := range errorTypes {
		switch {
		case errors.Is(err, row.target):
			return row.class
		case row.target == nil && hasStatus:
			return strconv.Itoa(response.StatusCode)
		}
	}
	network, ok := errors.AsType[net.Error](err)
	_, dns := errors.AsType[*net.DNSError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case ok && network.Timeout():
		return "timeout"
	case dns:
		return "name_resolution"
	case certificate:
		return "certificate"
	}
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(err) {
		err = cause
	}
	// The types of errors.New, errors.Join and fmt.Errorf say nothing.
	name := fmt.Sprintf("%T", err)
	if strings.HasPrefix(name, "*errors.") || strings.HasPrefix(name, "*fmt.") {
		return "_OTHER"
	}
	return name
}
