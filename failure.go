package petstore

import (
	"cmp"
	"fmt"
	"net/http"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/ratelimit"
)

// errorOf returns the error of a call that ends with the attempt a; doc.go lists the types. The
// only other error of a call that made an attempt is that of decodeBody.
func (k *call) errorOf(a *attempt) error {
	code := a.outcome.StatusCode
	switch {
	case a.failure == notAdmitted:
		return k.refusal(a)
	case a.failure == contextEnded && code >= http.StatusMultipleChoices: // the body is cut off
		return k.transportError(a, after(a.err, k.apiError(a)))
	case a.failure == notHTTP:
		return k.responseError(a, "not HTTP", a.err)
	case a.failure == contextEnded, code == 0:
		return k.transportError(a, a.err)
	case a.expectedStatus && a.failure == bodyTooLarge:
		return k.responseError(a, "body is larger than 10 MiB", nil)
	case a.expectedStatus:
		return k.responseError(a, "body is cut off", a.err)
	case code/100 == 2:
		return k.responseError(a, "status is not the documented one", nil)
	case code == http.StatusTooManyRequests:
		limited := ratelimit.Error{RetryAt: a.retryAt(), Window: a.outcome.Window, Reason: a.lockout.Reason}
		return k.rateLimitError(&limited, k.apiError(a))
	}
	return k.apiError(a)
}

// refusal returns the error of a call whose last attempt sent nothing. If there was an attempt
// before that, its error is wrapped.
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

// after returns err together with the error of the attempt before; either may be nil.
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
	return safetext.Head(a.body, a.key.Secret(), 4<<10, a.failure != noFailure)
}
