package petstore

import (
	"errors"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/errtext"
	"github.com/petstore/petstore-go/internal/quota"
	"github.com/petstore/petstore-go/internal/redact"
	"github.com/petstore/petstore-go/internal/retry"
)

// outcome makes the errors of a call.
type outcome struct {
	operation *operation
	last      *attempt   // nil before the first
	plan      retry.Plan // what to do after the last attempt
	sent      int        // requests that may have been written
}

// ofLast returns the error of the last attempt, nil for a success; doc.go has the types of errors.
// If the caller's context ended while the body was read, the error also matches that of the
// context, and is a *TransportError in place of a *ResponseError or *APIError.
func (o *outcome) ofLast() error {
	a := o.last
	code := a.response.StatusCode
	ended, _ := errors.AsType[*deadline.EndedError](a.err)
	switch {
	case a.failure == retry.Protocol:
		return o.responseError("not HTTP", a.err)
	case code == 0, ended != nil && code/100 == 2:
		return o.transportError(a.err)
	case a.tooLarge && o.operation.succeeds(code):
		return o.responseError("body is too large; see WithMaxResponseBytes", nil)
	case a.err != nil && o.operation.succeeds(code):
		return o.responseError("body is cut off", a.err)
	case o.operation.succeeds(code):
		return nil
	case code/100 == 2:
		return o.responseError("status is not the documented one", nil)
	case code == http.StatusTooManyRequests:
		return o.rateLimitError(opensAt(a.response), ended.With(o.apiError()))
	case ended != nil:
		return o.transportError(ended.With(o.apiError()))
	}
	return o.apiError()
}

func (o *outcome) apiError() *APIError {
	a := o.last
	e := &APIError{
		Operation:  o.operation.name,
		RetryAfter: a.response.RetryAfter,
		Body:       o.bodyStart(),
		Response:   o.response(),
		tooLong:    o.plan.TooLong,
	}
	code, message := a.buffer.ErrorObject(a.body)
	key := a.secret()
	e.Code, e.Message = redact.Text(code, key), redact.Text(message, key)
	return e
}

func (o *outcome) responseError(reason string, err error) *ResponseError {
	return &ResponseError{o.operation.name, reason, o.bodyStart(), o.response(), err}
}

// decodeError returns the error for a body that cannot be decoded. It keeps only the text of the
// decoder's error, shortened and without the key: the decoder quotes names from the body, which may
// be long and contain anything.
func (o *outcome) decodeError(err error) *ResponseError {
	return o.responseError("body", errors.New(errtext.Line(redact.Text(err.Error(), o.last.secret()))))
}

// transportError returns the error of a call that ends with err, in an attempt, between two or
// before the first.
func (o *outcome) transportError(err error) *TransportError {
	e := &TransportError{Operation: o.operation.name, Attempts: o.sent, Err: err}
	if a := o.last; a != nil {
		e.begun, e.unknown = a.number, !o.operation.repeatable && a.result().MayBeDone()
	}
	return e
}

// rateLimitError returns the error of a call whose last response is a 429.
func (o *outcome) rateLimitError(retryAt time.Time, err error) *RateLimitError {
	// The time may have passed, for instance while a slow body was read or the machine was suspended.
	if now := time.Now(); !retryAt.IsZero() && quota.Passed(now, retryAt) {
		retryAt = now
	}
	return &RateLimitError{
		Operation: o.operation.name,
		RetryAt:   retryAt,
		RateLimit: o.last.response.RateLimit,
		Scope:     o.last.scope(),
		Attempts:  o.sent,
		Err:       err,
	}
}

// refusal returns the error of a call that was not admitted because of err.
func (o *outcome) refusal(err error, ended error) error {
	if limited, ok := errors.AsType[*RateLimitError](err); ok {
		e := *limited
		e.Operation, e.Attempts = o.operation.name, o.sent
		e.Err = o.withLast(e.Err)
		return &e
	}
	if ended != nil {
		return o.endedWhileWaiting(ended)
	}
	return o.transportError(o.withLast(err))
}

// endedWhileWaiting returns the error of a call whose context ended between two attempts or before
// the first.
func (o *outcome) endedWhileWaiting(ended error) error {
	err := o.withLast(ended)
	if o.last == nil || o.last.response.StatusCode != http.StatusTooManyRequests {
		return o.transportError(err)
	}
	return o.rateLimitError(o.plan.NotBefore, err)
}

// withLast returns err joined with the error of the last attempt, if there was one.
func (o *outcome) withLast(err error) error {
	if o.last == nil {
		return err
	}
	last := o.ofLast()
	if limited, ok := errors.AsType[*RateLimitError](last); ok {
		last = limited.Err // the caller makes a RateLimitError of its own
	}
	if ended, ok := errors.AsType[*deadline.EndedError](err); ok {
		return ended.With(last)
	}
	if err == nil {
		return last
	}
	return errors.Join(err, last)
}

func (o *outcome) response() Response {
	a := o.last
	return Response{a.response.StatusCode, a.header, a.response.RateLimit, o.sent}
}

// bodyStart returns the part of the body that an error keeps.
func (o *outcome) bodyStart() []byte {
	a := o.last
	return redact.Head(a.body, a.secret(), maxErrorBody, a.tooLarge || a.err != nil)
}
