package petstore

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/ratelimit"
)

// The sentinels that the errors of calls match with [errors.Is]. One error may match several.
var (
	// ErrBadRequest is matched by an APIError with status 400: the service refused the body.
	ErrBadRequest = errors.New("petstore: bad request")
	// ErrUnauthorized is matched by an APIError with status 401: the API key is missing or invalid.
	ErrUnauthorized = errors.New("petstore: unauthorized")
	// ErrNotFound is matched by an APIError with status 404 (section 7).
	ErrNotFound = errors.New("petstore: not found")
	// ErrRateLimited is matched by a RateLimitError and by an APIError with status 429.
	ErrRateLimited = errors.New("petstore: rate limited")
	// ErrOutcomeUnknown is matched by an error of a write, which the service may or may not have
	// carried out. After any other error it has not. The client never sends such a request again:
	// the service cannot distinguish a repetition of CreatePet from a second pet. A list shows at
	// most 100 pets, in no promised order: that it lacks the pet proves nothing. Log what you are
	// about to create, and the error's CallID. Section Retries of the package says what a write is.
	ErrOutcomeUnknown = errors.New("petstore: outcome unknown")
	// ErrAPIKey is matched by a TransportError of a call for which [WithAPIKeyFunc] returned no valid
	// key.
	ErrAPIKey = errors.New("petstore: no API key")
	// ErrInvalidResponse is matched by a ResponseError: the response does not follow the document.
	ErrInvalidResponse = errors.New("petstore: invalid response")
	// ErrInvalidArgument is matched by an ArgumentError: nothing was sent.
	ErrInvalidArgument = errors.New("petstore: invalid argument")
	// ErrNotSent is matched by every error of a call that sent nothing: its argument was wrong, the
	// limiter refused it, it got no connection or no key, or its context had ended. A transport that
	// [WithTransport] returns may wrap it, too.
	ErrNotSent = errors.New("petstore: not sent")
	// ErrStopped is matched by a TransportError of a call that [WithStop] ended.
	ErrStopped = errors.New("petstore: stopped by WithStop")
	// ErrTimeout is matched by an error of a call that exceeded [WithAttemptTimeout] or
	// [WithCallTimeout]. It wraps a [net.Error] whose Timeout returns true.
	ErrTimeout = errors.New("petstore: timeout")
)

// endError is the cause of a context of a call that a timeout or WithStop has ended. It has no
// Unwrap, so that it matches nothing in the error of another call.
type endError struct {
	error
	callID string
}

// timeoutError is the [net.Error] of an attempt or a call that took longer than an option allows.
type timeoutError struct {
	what  string // attempt or call
	limit time.Duration
}

func (e *timeoutError) Error() string        { return e.what + " timed out after " + e.limit.String() }
func (e *timeoutError) Is(target error) bool { return target == ErrTimeout }
func (e *timeoutError) Timeout() bool        { return true }
func (e *timeoutError) Temporary() bool      { return true }

// keyError is the reason why there is no API key; it matches ErrAPIKey.
type keyError struct{ error }

func (e *keyError) Is(target error) bool { return target == ErrAPIKey }
func (e *keyError) Unwrap() error        { return e.error }

// APIError reports a response other than the operation's success: an Error object of the service
// (sections 2 and 7), a redirect, or the response of a proxy or gateway. [errors.AsType] finds it
// in the error of a call, also inside a [RateLimitError].
type APIError struct {
	// Operation is the name of the operation in the service document: "createPet".
	Operation string
	// CallID is the call_id of the call's lines in the log.
	CallID string
	// Code and Message come from the Error object. Both are empty if the body is no Error object.
	// The document lists no codes: decide by status, or with errors.Is.
	Code    string
	Message string
	// RetryAfter is the time from Retry-After, counted from the response; 0 without a valid one.
	RetryAfter time.Duration
	// Body is the start of the response's body, at most 4 KiB, without the API key.
	Body []byte
	Response
	// OutcomeUnknown reports whether the request was a write, and the response does not say whether
	// it was carried out.
	OutcomeUnknown bool

	received time.Time // when the response came
}

// Error returns one line of at most 512 bytes. Text of the server is quoted.
func (e *APIError) Error() string {
	code := http.StatusText(e.StatusCode)
	if e.Code != "" {
		code = safetext.Token(e.Code)
	}
	return errorLine(safetext.Prefix(e.Operation)+strconv.Itoa(e.StatusCode)+
		when(code != "", " "+code)+
		when(e.RetryAfter > 0, ", Retry-After "+e.RetryAfter.String())+
		when(e.Message != "", ": "+safetext.Quote(e.Message))+
		when(e.StatusCode/100 == 3, ": redirects are not followed"), e.Operation, e.Attempts, e.OutcomeUnknown)
}

// Is reports whether target is the sentinel of the status code, or [ErrOutcomeUnknown].
func (e *APIError) Is(target error) bool {
	if target == ErrOutcomeUnknown {
		return e.OutcomeUnknown
	}
	return target != nil && target == statusErrors[e.StatusCode]
}

// statusErrors has the sentinels that stand for a status code.
var statusErrors = map[int]error{
	http.StatusBadRequest: ErrBadRequest, http.StatusUnauthorized: ErrUnauthorized,
	http.StatusNotFound: ErrNotFound, http.StatusTooManyRequests: ErrRateLimited,
}

// ArgumentError reports an argument that the service document rules out, or that cannot be sent.
type ArgumentError struct {
	// Operation is the name of the operation, or "NewClient".
	Operation string
	// Argument is the name of the parameter, field or option: "Limit".
	Argument string
	// Reason is what is wrong with the argument.
	Reason string
}

// Error returns one line of at most 512 bytes.
func (e *ArgumentError) Error() string {
	return safetext.Line(safetext.Prefix(e.Operation) + strings.TrimPrefix(e.Argument+": ", ": ") + e.Reason)
}

// Is reports whether target is [ErrInvalidArgument] or [ErrNotSent].
func (e *ArgumentError) Is(target error) bool {
	return target == ErrInvalidArgument || target == ErrNotSent
}

// ResponseError reports a response that does not follow the service document: an undocumented
// success status, a media type other than JSON, malformed or truncated JSON, a missing required
// field, a body that is too large, or bytes that are not HTTP.
type ResponseError struct {
	// Operation is the name of the operation in the service document: "createPet".
	Operation string
	// CallID is the call_id of the call's lines in the log.
	CallID string
	// Reason is what is wrong with the response.
	Reason string
	// Body is the start of the response's body, at most 4 KiB, without the API key.
	Body     []byte
	Response // StatusCode is 0 if the response was not HTTP
	// OutcomeUnknown reports whether the request was a write.
	OutcomeUnknown bool
	// Err is the error of the transport or the decoder; nil if there is none.
	Err error
}

// Error returns one line of at most 512 bytes.
func (e *ResponseError) Error() string {
	text := safetext.Prefix(e.Operation) + "invalid response" +
		when(e.StatusCode != 0, " (status "+strconv.Itoa(e.StatusCode)+")") + ": " + e.Reason
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return errorLine(text, e.Operation, e.Attempts, e.OutcomeUnknown)
}

// Is reports whether target is [ErrInvalidResponse], or is [ErrOutcomeUnknown] while the field
// OutcomeUnknown is set.
func (e *ResponseError) Is(target error) bool {
	return target == ErrInvalidResponse || target == ErrOutcomeUnknown && e.OutcomeUnknown
}

// Unwrap returns Err.
func (e *ResponseError) Unwrap() error { return e.Err }

// TransportError reports a call that ended without a response: the connection failed, an attempt
// exceeded [WithAttemptTimeout], [WithAPIKeyFunc] returned no valid key, or the caller's context
// ended.
//
// It matches [context.Canceled] or [context.DeadlineExceeded] only if the caller's own context
// ended; it then also matches the [context.Cause], unless that is the error of another call.
type TransportError struct {
	// Operation is the name of the operation in the service document: "createPet".
	Operation string
	// CallID is the call_id of the call's lines in the log.
	CallID string
	// Attempts is the number of requests that the call sent, in part or completely.
	Attempts int
	// OutcomeUnknown reports whether the service may have carried out the last request, which is a
	// write.
	OutcomeUnknown bool
	// Err is the cause.
	Err error
}

// Error returns one line of at most 512 bytes.
func (e *TransportError) Error() string {
	text := safetext.Prefix(e.Operation) + safetext.TrimPrefix(e.Err, e.Operation)
	return errorLine(text, e.Operation, e.Attempts, e.OutcomeUnknown)
}

// Is reports whether target is [ErrNotSent] while nothing was sent, or is [ErrOutcomeUnknown] while
// the field OutcomeUnknown is set.
func (e *TransportError) Is(target error) bool {
	return target == ErrNotSent && e.Attempts == 0 || target == ErrOutcomeUnknown && e.OutcomeUnknown
}

// Unwrap returns Err.
func (e *TransportError) Unwrap() error { return e.Err }

// errorLine returns text with notes behind it: the number of requests and, if the outcome of a
// write is unknown, what may have happened.
func errorLine(text, operation string, sent int, unknown bool) string {
	doubt := "; the request may have been carried out" // for Do
	if op := operations[operation]; op != nil {
		doubt = "; " + op.doubt
	}
	return safetext.Line(text, when(sent > 1, " ("+strconv.Itoa(sent)+" attempts)"), when(unknown, doubt))
}

// error returns the error of a call that ends with x; doc.go lists the types. It is the only place
// that chooses one, but for the success that cannot be decoded.
func (k *call) error(x *exchange) error {
	switch code := x.outcome.StatusCode; {
	case x.failure == refused:
		return k.refusal(x)
	case x.failure == ended && code >= http.StatusMultipleChoices:
		return k.transportError(x, after(x.err, k.apiError(x)))
	case x.failure == notHTTP:
		return k.responseError(x, "not HTTP", x.err)
	case x.failure == ended, code == 0:
		return k.transportError(x, x.err)
	case x.success && x.failure == tooLarge:
		return k.responseError(x, "body is larger than 10 MiB", nil)
	case x.success:
		return k.responseError(x, "body is cut off", x.err)
	case code/100 == 2:
		return k.responseError(x, "status is not the documented one", nil)
	case code == http.StatusTooManyRequests:
		limited := ratelimit.Error{RetryAt: x.retryAt, Window: x.outcome.Window, Reason: x.reason}
		return k.rateLimitError(&limited, k.apiError(x))
	}
	return k.apiError(x)
}

// refusal returns the error of a call whose last attempt sent nothing. It wraps the error of the
// attempt before, if there was one.
func (k *call) refusal(x *exchange) error {
	var last error
	if k.previous != nil {
		last = k.error(k.previous)
	}
	limited, ok := x.err.(*ratelimit.Error)
	switch {
	case x.err == errSameKey:
		return last
	case !ok:
		return k.transportError(x, after(x.err, last))
	}
	if got429, ok := last.(*RateLimitError); ok {
		last = got429.Err
	}
	return k.rateLimitError(limited, after(limited.Err, last))
}

// after returns err together with the error of the attempt before; either may be nil.
func after(err, last error) error {
	if err == nil || last == nil {
		return cmp.Or(err, last)
	}
	return fmt.Errorf("%w; last attempt: %w", err, last)
}

// apiError returns the error for a response that is not the success of the operation. The key is
// taken out of all that it has from the response.
func (k *call) apiError(x *exchange) *APIError {
	code, message := decodeError(x.body)
	key := x.key.Secret()
	return &APIError{
		Operation: k.name, CallID: k.info.ID, Code: safetext.Redact(code, key), Message: safetext.Redact(message, key),
		RetryAfter: x.outcome.RetryAfter, Body: x.bodyStart(), Response: k.response(x),
		OutcomeUnknown: k.isWrite() && x.mayBeDone(), received: x.outcome.Received,
	}
}

func (k *call) responseError(x *exchange, reason string, err error) *ResponseError {
	unknown := k.isWrite() && x.mayBeDone()
	return &ResponseError{k.name, k.info.ID, reason, x.bodyStart(), k.response(x), unknown, err}
}

func (k *call) transportError(x *exchange, err error) *TransportError {
	return &TransportError{k.name, k.info.ID, k.sent, k.isWrite() && x.mayBeDone(), err}
}

func (k *call) rateLimitError(e *ratelimit.Error, err error) *RateLimitError {
	return &RateLimitError{k.name, k.info.ID, e.RetryAt, e.Window, e.Reason, k.sent, err}
}

// bodyStart returns the part of the body that an error keeps: enough for an Error object, and to
// recognise the HTML page of a gateway.
func (x *exchange) bodyStart() []byte {
	return safetext.Head(x.body, x.key.Secret(), 4<<10, x.failure != none)
}
