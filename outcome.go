package petstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/internal/body"
	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/ratelimit"
)

// ofLast returns the error of the last attempt, which has failed; doc.go has the types of errors.
// If the caller's context ended while the body was read, the error also matches that of the
// context, and is a *TransportError in place of a *ResponseError or *APIError.
func (k *call) ofLast() error {
	a := k.progress.last
	code := a.response.StatusCode
	switch {
	case a.failure == retry.Protocol:
		return k.responseError("not HTTP", a.err)
	case code == 0, a.ended != nil && code/100 == 2:
		return k.transportError(a.err)
	case a.tooLarge && k.operation.succeeds(code):
		return k.responseError("body is too large; see WithMaxResponseBytes", nil)
	case a.err != nil && k.operation.succeeds(code):
		return k.responseError("body is cut off", a.err)
	case code/100 == 2:
		return k.responseError("status is not the documented one", nil)
	case code == http.StatusTooManyRequests:
		return k.rateLimitError(a.lockout.Until, after(a.ended, k.apiError()))
	case a.ended != nil:
		return k.transportError(after(a.ended, k.apiError()))
	}
	return k.apiError()
}

func (k *call) apiError() *APIError {
	a := k.progress.last
	e := &APIError{
		Operation:  k.operation.name,
		CallID:     k.idText(),
		RetryAfter: a.response.RetryAfter,
		Body:       k.bodyStart(),
		Response:   k.response(),
		received:   a.response.Received,
		note:       k.notRetried(),
	}
	code, message := body.ErrorObject(a.body)
	key := a.key.Secret()
	e.Code, e.Message = safetext.Redact(code, key), safetext.Redact(message, key)
	return e
}

// notRetried says why there was no further attempt, if the number of attempts is not the reason.
func (k *call) notRetried() string {
	switch plan := &k.progress.plan; {
	case plan.TooLong:
		wait := k.progress.last.response.RetryAfter.String()
		return "not retried, because Retry-After " + wait + " is longer than the call may wait"
	case plan.NoTokens:
		return "not retried: too many retries lately"
	}
	return ""
}

func (k *call) responseError(reason string, err error) *ResponseError {
	return &ResponseError{
		Operation: k.operation.name, CallID: k.idText(), Reason: reason,
		Body: k.bodyStart(), Response: k.response(), Err: err,
	}
}

// transportError returns the error of a call that ends with err, in an attempt, between two or
// before the first.
func (k *call) transportError(err error) *TransportError {
	e := &TransportError{
		Operation: k.operation.name, CallID: k.idText(), Attempts: k.progress.sent, Err: err, note: k.notRetried(),
	}
	if a := k.progress.last; a != nil {
		e.begun, e.unknown = a.number, !k.operation.repeatable && a.result().MayBeDone()
	}
	return e
}

// rateLimitError returns the error of a call whose last response is a 429.
func (k *call) rateLimitError(retryAt time.Time, err error) *RateLimitError {
	// The time may have passed, for instance while a slow body was read.
	if now := time.Now(); !retryAt.IsZero() && !now.Before(retryAt) {
		retryAt = now
	}
	return &RateLimitError{
		Operation: k.operation.name,
		CallID:    k.idText(),
		RetryAt:   retryAt,
		RateLimit: k.progress.last.response.Window,
		Scope:     k.progress.last.lockout.Scope,
		Attempts:  k.progress.sent,
		Err:       err,
	}
}

// refusal returns the error of the call after err, because of which a was not sent.
func (k *call) refusal(a *attempt, err error) error {
	if noKey, ok := err.(*keyError); ok { // that of this call, not one inside a foreign error
		a.err, a.failure = noKey.error, retry.Permanent
		k.progress.last, k.progress.plan = a, retry.Plan{}
		return k.ofLast()
	}
	if errors.Is(err, errSameKey) {
		return k.ofLast() // the service has refused this key
	}
	ended := k.ended()
	limited, ok := errors.AsType[*ratelimit.Error](err)
	switch {
	case ok && !errors.Is(ended, ErrStopped):
		return &RateLimitError{
			Operation: k.operation.name, CallID: k.idText(), RetryAt: limited.RetryAt, RateLimit: limited.Window,
			Scope: limited.Scope, Attempts: k.progress.sent, Err: after(ofLimiter(limited.Err), k.lastError()),
		}
	case ended != nil:
		return k.endedWhileWaiting(ended)
	}
	return k.transportError(after(foreign(err), k.lastError()))
}

// endedWhileWaiting returns the error of a call that ended between two attempts or before the
// first.
func (k *call) endedWhileWaiting(ended error) error {
	last := k.lastError()
	switch limited := last != nil && k.progress.last.response.StatusCode == http.StatusTooManyRequests; {
	case limited && errors.Is(ended, ErrStopped):
		last = errors.New(last.Error()) // it does not match, since the limit is not why the call ended
	case limited:
		return k.rateLimitError(k.progress.plan.NotBefore, after(ended, last))
	}
	return k.transportError(after(ended, last))
}

// lastError returns the error of the last attempt for the error of a call that ended later: of a
// 429 the *APIError; nil if there was no attempt.
func (k *call) lastError() error {
	if k.progress.last == nil {
		return nil
	}
	err := k.ofLast()
	if limited, ok := err.(*RateLimitError); ok { // ofLast returns it
		return limited.Err
	}
	return err
}

// after returns err with the error of the last attempt; either may be nil.
func after(err, last error) error {
	if err == nil || last == nil {
		return cmp.Or(err, last)
	}
	return fmt.Errorf("%w; last attempt: %w", err, last)
}

// callerEnded returns an error if the context of the call has ended during a. Its text says that it
// was the caller's deadline and how long there was no response: the service may have been slow.
func (a *attempt) callerEnded() error {
	ended := endOf(a.call.ctx)
	if !errors.Is(ended, context.DeadlineExceeded) || errors.Is(ended, ErrTimeout) {
		return ended
	}
	waited := time.Since(a.ready).Round(time.Millisecond)
	return fmt.Errorf("no response after %v, at the caller's deadline: %w", waited, ended)
}

// bodyStart returns the part of the body that an error keeps.
func (k *call) bodyStart() []byte {
	a := k.progress.last
	return safetext.Head(a.body, a.key.Secret(), maxErrorBody, a.tooLarge || a.err != nil)
}

// idText returns the call_id of the log.
func (k *call) idText() string { return strconv.FormatUint(k.progress.seen.ID, 16) }

// ofLimiter returns the error of a limiter, which may be about the end of the call's context.
func ofLimiter(err error) error { return safetext.Hide(err, concluding[:3]...) }

// foreign returns the error of a function, a transport or a limiter of the user. It matches what
// err matches, but nothing that is about this call, or about the end of its context.
func foreign(err error) error { return safetext.Hide(err, concluding[:]...) }
