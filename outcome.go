package petstore

import (
	"errors"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/errtext"
	"github.com/petstore/petstore-go/internal/quota"
	"github.com/petstore/petstore-go/internal/redact"
	"github.com/petstore/petstore-go/internal/wire"
)

// outcome returns the error of the call, nil for a success, after go-retryablehttp has ended its
// loop with err.
func (k *call) outcome(err error) error {
	switch {
	case k.refused != nil:
		return k.refused
	case k.last == nil: // http.Client refused the carrier
		return k.transportError(err)
	case k.plan.again: // the context ended before the planned attempt
		return k.endedWhileWaiting()
	}
	err = k.last.outcome()
	if err == nil {
		k.client.retries.succeeded()
	}
	return err
}

// outcome returns the error of an attempt, nil for a success.
//
//	response                      type              errors.Is
//	none                          *TransportError   the cause; ErrOutcomeUnknown for a create
//	                                                that may have been written
//	bytes that are not HTTP       *ResponseError    ErrInvalidResponse; for a create also
//	                                                ErrOutcomeUnknown
//	documented success, cut off   *ResponseError    as above
//	another 2xx                   *ResponseError    as above
//	429                           *RateLimitError   ErrRateLimited
//	400, 401, 404                 *APIError         ErrBadRequest, ErrUnauthorized, ErrNotFound
//	3xx, 408, 5xx except 501      *APIError         ErrOutcomeUnknown for a create
//	any other status              *APIError
//
// If the caller's context ended while the body was read, the error also matches that of the
// context, and is a *TransportError in place of a *ResponseError or *APIError.
func (a *attempt) outcome() error {
	ended, _ := errors.AsType[*endedError](a.err)
	switch {
	case a.failure == wire.Protocol:
		return a.responseError("not HTTP", a.err)
	case a.statusCode == 0, ended != nil && a.statusCode/100 == 2:
		return a.transportError(a.err)
	case a.operation().succeeds(a.statusCode):
		return a.successError()
	case a.statusCode/100 == 2:
		return a.responseError("status is not the documented one", nil)
	case a.statusCode == http.StatusTooManyRequests:
		return &RateLimitError{
			Operation: a.operation().name,
			RetryAt:   notPast(a.retryAt()),
			RateLimit: a.rateLimit,
			Scope:     a.scope(),
			Attempts:  a.number,
			Err:       ended.with(a.apiError()),
		}
	case ended != nil:
		return a.transportError(ended.with(a.apiError()))
	}
	return a.apiError()
}

// successError returns what is wrong with the body of a response that has the documented status.
func (a *attempt) successError() error {
	switch {
	case a.tooLarge:
		return a.responseError("body is too large; see WithMaxResponseBytes", nil)
	case a.err != nil:
		return a.responseError("body is cut off", a.err)
	}
	return nil
}

func (a *attempt) operation() *operation { return a.call.operation }

func (a *attempt) apiError() *APIError {
	e := &APIError{
		Operation:  a.operation().name,
		RetryAfter: a.retryAfter,
		Body:       a.bodyStart(),
		Response:   a.response(),
		tooLong:    a.call.plan.tooLong,
	}
	code, message := a.call.buffer.ErrorObject(a.body)
	key := a.key.Secret()
	e.Code, e.Message = redact.Text(code, key), redact.Text(message, key)
	return e
}

func (a *attempt) transportError(err error) *TransportError {
	return &TransportError{a.operation().name, a.number, a.sent, err, !a.mayBeDone(), a.call.sent}
}

func (a *attempt) responseError(reason string, err error) *ResponseError {
	return &ResponseError{a.operation().name, reason, a.bodyStart(), a.response(), err}
}

// decodeError returns the error for a body that cannot be decoded. It keeps only the text of the
// decoder's error, shortened and without the key: the decoder quotes names from the body, which may
// be long and contain anything.
func (a *attempt) decodeError(err error) *ResponseError {
	return a.responseError("body", errors.New(errtext.Line(redact.Text(err.Error(), a.key.Secret()))))
}

func (a *attempt) response() Response {
	return Response{StatusCode: a.statusCode, Header: a.header, RateLimit: a.rateLimit, Attempts: a.number}
}

// retryAt returns the time from which a 429 allows the next request, by the local clock; zero if
// the response does not say.
func (a *attempt) retryAt() time.Time { return opensAt(a.observation(time.Time{})) }

// notPast returns t, or now if t has passed, for instance while a slow body was read or the machine
// was suspended. The zero time stays zero.
func notPast(t time.Time) time.Time {
	if now := time.Now(); !t.IsZero() && quota.Over(now, t) {
		return now
	}
	return t
}

// scope returns the limit that a 429 seems to be for; empty for any other response.
func (a *attempt) scope() LimitScope {
	if a.statusCode != http.StatusTooManyRequests {
		return ""
	}
	return scopeOf(a.observation(time.Time{}))
}

// endedWhileWaiting returns the error of a call whose context ended between two attempts or before
// the first.
func (k *call) endedWhileWaiting() error {
	err := k.withLast(k.ended())
	if k.last == nil || k.last.statusCode != http.StatusTooManyRequests {
		return k.transportError(err)
	}
	return &RateLimitError{
		Operation: k.operation.name,
		RetryAt:   notPast(k.plan.notBefore),
		RateLimit: k.last.rateLimit,
		Scope:     k.last.scope(),
		Attempts:  k.last.number,
		Err:       err,
	}
}

// transportError returns the error of a call that ends with err between two attempts or before the
// first.
func (k *call) transportError(err error) *TransportError {
	e := &TransportError{Operation: k.operation.name, Attempts: int(k.attempts.Load()), Err: err, earlier: k.sent}
	if k.last != nil {
		e.Sent, e.notDone = k.last.sent, !k.last.mayBeDone()
	}
	return e
}

// withLast returns err joined with the error of the last attempt, if there was one.
func (k *call) withLast(err error) error {
	if k.last == nil {
		return err
	}
	last := k.last.outcome()
	if limited, ok := errors.AsType[*RateLimitError](last); ok {
		last = limited.Err // the caller makes a RateLimitError of its own
	}
	if ended, ok := errors.AsType[*endedError](err); ok {
		return ended.with(last)
	}
	if err == nil {
		return last
	}
	return errors.Join(err, last)
}

// redact removes the key from the header and the error of a; bodyStart does so for the body. It
// copies the header first, because the transport may share it with other requests.
func (a *attempt) redact() {
	key := a.key.Secret()
	a.header = redact.Header(a.header, key)
	if _, ended := errors.AsType[*endedError](a.err); a.err != nil && !ended {
		a.err = redactError(a.err, key)
	}
}

// redactError returns err. If its text contains the key, it returns an error with the redacted
// text.
func redactError(err error, key string) error {
	text := err.Error()
	if clean := redact.Text(text, key); clean != text {
		return errors.New(clean)
	}
	return err
}

// bodyStart returns the part of the body that an error keeps, as a copy, so that an error does not
// keep the whole body in memory.
func (a *attempt) bodyStart() []byte {
	key := a.key.Secret()
	more := redact.MaxEscape * len(key) // a key that begins within the limit is then found
	start := string(a.body[:min(len(a.body), maxErrorBody+more)])
	if len(a.body) > len(start) {
		clean := redact.Cut(start, key)
		clean = clean[:max(0, len(clean)-more)]
		return []byte(clean[:min(len(clean), maxErrorBody)])
	}
	clean := redact.Text(start, key)
	if a.tooLarge || a.err != nil { // the body may end within a key
		clean = redact.Cut(start, key)
	}
	return []byte(clean[:min(len(clean), maxErrorBody)])
}
