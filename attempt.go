package petstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/internal/wire"
	"github.com/petstore/petstore-go/ratelimit"
)

// attempt is the record of one attempt. RoundTrip fills it; nothing changes it afterwards. From it
// come the decision about another attempt, and the result or the error of the call.
type attempt struct {
	key        credential.Key
	permit     ratelimit.Permit // nil once it is released, and without a limiter
	connection connectionState
	outcome    ratelimit.Outcome // of the request, for the limiter: the status and the times, for example
	lockout    ratelimit.Lockout // of the key, as the limiter reported it after the request
	header     http.Header       // of the response, without the key
	body       []byte            // of the response, or its start
	failure    failure
	err        error // why there is no whole response; nil if there is one

	mayBeWritten bool // the request may have been written
}

// was reports whether the attempt got a response with this status. a may be nil.
func (a *attempt) was(status int) bool { return a != nil && a.outcome.StatusCode == status }

// limiterWaits reports, for an attempt that got a 429, whether the limiter delays the next attempt.
// If the limiter does not, the retry loop must wait.
func (a *attempt) limiterWaits() bool { return a.lockout.Until.After(a.outcome.Received) }

// retryAt returns when the limiter or a 429 allows the next request; zero if that is not known.
func (a *attempt) retryAt() time.Time {
	at := a.outcome.Received.Add(a.outcome.RetryAfter)
	if a.was(http.StatusTooManyRequests) && a.outcome.RetryAfter > 0 && at.After(a.lockout.Until) {
		return at
	}
	return a.lockout.Until
}

// failure is why an attempt has no whole response.
type failure uint8

const (
	noFailure        failure = iota
	noPermit                 // nothing was passed to the transport: no key, no permit, or the context had ended
	contextEnded             // the context of the call has ended
	connectionFailed         // the connection broke, or there was none: another attempt may succeed
	permanent                // another attempt would fail in the same way
	notHTTP                  // the response is not HTTP
	bodyTooLarge             // the body is larger than maxBody
)

// connectionState is what net/http reports about the connection of a request.
type connectionState struct{ asked, got, reused, answered atomic.Bool }

func (s *connectionState) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { s.asked.Store(true) },
		GotConn: func(info httptrace.GotConnInfo) {
			// httputil.DumpRequestOut sends nothing: its connection has no address.
			isReal := info.Conn == nil || info.Conn.RemoteAddr() != nil
			s.asked.Store(isReal)
			s.got.Store(isReal || s.got.Load())
			s.reused.Store(info.Reused)
		},
		GotFirstResponseByte: func() { s.answered.Store(true) },
	}
}

// wrote reports whether a request that failed with err may have been written. It may have been if
// net/http got a connection for it. If net/http was asked for none, the caller's transport sends in
// some other way: then the request may have been written unless err says that it was not.
func (s *connectionState) wrote(err error) bool {
	switch {
	case wire.IsUnprocessed(err):
		return false
	case s.got.Load() || s.asked.Load():
		return s.got.Load()
	}
	return !errors.Is(err, ErrNotSent) && !wire.IsDial(err)
}

// mayBeDead reports whether the request got a reused connection, and no byte of a response: then
// the connection is dead, or the service is slow.
func (s *connectionState) mayBeDead() bool { return s.reused.Load() && !s.answered.Load() }

// errorOf returns the error that the call returns if a is its last attempt; doc.go lists the types.
// It returns nil for a whole response with the documented status: decodeBody makes the errors about
// its body.
func (k *call) errorOf(a *attempt) error {
	code := a.outcome.StatusCode
	isExpected := k.expects(code)
	switch {
	case isExpected && a.failure == noFailure:
		return nil
	case a.failure == noPermit:
		return k.refusal(a)
	case a.failure == notHTTP:
		return k.responseError(a, "not HTTP", a.err)
	case a.failure == contextEnded, code == 0:
		return k.transportError(a, a.err)
	case isExpected && a.failure == bodyTooLarge:
		return k.responseError(a, "body is larger than 10 MiB", nil)
	case isExpected:
		return k.responseError(a, "body is cut off", a.err)
	case code/100 == 2:
		return k.responseError(a, "status is not the documented one", nil)
	case code == http.StatusTooManyRequests:
		limited := ratelimit.Error{RetryAt: a.retryAt(), Window: a.outcome.Window, Reason: a.lockout.Reason}
		return k.rateLimitError(&limited, k.apiError(a))
	}
	return k.apiError(a)
}

// refusal returns the error of a call whose last attempt sent nothing. It wraps the error of the
// attempt before that, if there was one.
func (k *call) refusal(a *attempt) error {
	var before error
	if k.previous != nil {
		before = k.errorOf(k.previous)
	}
	limited, ok := a.err.(*ratelimit.Error)
	switch {
	case a.err == errSameKey:
		return before
	case !ok:
		return k.transportError(a, after(a.err, before))
	}
	if got429, ok := before.(*RateLimitError); ok {
		before = got429.Err
	}
	return k.rateLimitError(limited, after(limited.Err, before))
}

// after returns an error that wraps err and the error of the attempt before; either may be nil.
func after(err, before error) error {
	if err == nil || before == nil {
		return cmp.Or(err, before)
	}
	return fmt.Errorf("%w; last attempt: %w", err, before)
}

// apiError returns the error for a response that is not the success of the operation. The key is
// removed from all parts of the response that the error keeps.
func (k *call) apiError(a *attempt) *APIError {
	code, message := decodeError(a.body)
	key := a.key.Secret()
	return &APIError{
		Operation: k.name, CallID: k.info.ID, Code: safetext.Redact(code, key), Message: safetext.Redact(message, key),
		RetryAfter: a.outcome.RetryAfter, Body: a.bodyStart(), Response: k.response(a),
		OutcomeUnknown: k.outcomeUnknown(a), received: a.outcome.Received,
	}
}

func (k *call) responseError(a *attempt, reason string, err error) *ResponseError {
	return &ResponseError{
		Operation: k.name, CallID: k.info.ID, Reason: reason, Body: a.bodyStart(), Response: k.response(a),
		OutcomeUnknown: k.outcomeUnknown(a), Err: err,
	}
}

func (k *call) transportError(a *attempt, err error) *TransportError {
	return &TransportError{
		Operation: k.name, CallID: k.info.ID, Attempts: k.requestsSent, OutcomeUnknown: k.outcomeUnknown(a), Err: err,
	}
}

func (k *call) rateLimitError(e *ratelimit.Error, err error) *RateLimitError {
	return &RateLimitError{
		Operation: k.name, CallID: k.info.ID, RetryAt: e.RetryAt, RateLimit: e.Window, Reason: e.Reason,
		Attempts: k.requestsSent, Err: err,
	}
}

// decodeError returns the code and the message of a body that is an Error object; both are empty
// for any other body, such as the HTML that a gateway sends with a 502.
func decodeError(body []byte) (code, message string) {
	var decoded struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if jsonv2.Unmarshal(body, &decoded) != nil {
		return "", ""
	}
	return decoded.Code, decoded.Message
}

// bodyStart returns the part of the body that an error keeps: enough for an Error object.
func (a *attempt) bodyStart() []byte {
	return safetext.Head(a.body, a.key.Secret(), 4<<10)
}

// endReason returns why ctx, a context of the call, has ended; nil if it has not. If another call
// around this one timed out, this is a cause of the caller, not a timeout of the call.
func (k *call) endReason(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	own, ok := cause.(*endError)
	switch {
	case ok && own.call == k:
		return own.error
	case err == nil || errors.Is(err, cause):
		return err
	}
	return fmt.Errorf("%w: %w", err, wrappable(cause))
}

// endError is the cause with which WithCallTimeout or WithStop ends a context of a call. It has no
// Unwrap: in an error of another call it must match nothing.
type endError struct {
	error
	call *call
}

// wrappable takes an error of the user's function, transport or limiter, or the cause of a context,
// and returns the error that an error of the call may wrap. If err is an error of another call, or
// of a context, wrappable keeps only its text, and whether it is a timeout. Otherwise the call's
// error would match, for example, context.Canceled, although the caller's own context has not
// ended. The timeouts of package net match [context.DeadlineExceeded], too. And an errgroup cancels
// all calls with the error of the first one that failed.
func wrappable(err error) error {
	_, isOfCall := errors.AsType[callError](err)
	if !isOfCall && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() {
		return timeoutError{text: err.Error()}
	}
	return errors.New(err.Error())
}

// timeoutError is a timeout. It is a [net.Error].
type timeoutError struct {
	text  string
	isOwn bool // an attempt or a call took longer than an option allows
}

func (e timeoutError) Error() string        { return e.text }
func (e timeoutError) Is(target error) bool { return target == ErrTimeout && e.isOwn }
func (timeoutError) Timeout() bool          { return true }
func (timeoutError) Temporary() bool        { return true }

// timedOut returns the error of an attempt or a call.
func timedOut(what string, limit time.Duration) error {
	return timeoutError{what + " timed out after " + limit.String(), true}
}

var errSameKey = errors.New("petstore: after a 401 there is no other key")
