package petstore

import (
	"cmp"
	"errors"
	"math"
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
	// ErrOutcomeUnknown is matched by the error of a write that the service may have carried out,
	// or not. If the error of a write does not match it, the service has not carried out the write.
	// The client never repeats a write whose outcome is unknown, because a repeated CreatePet may
	// add a second pet. A list without the pet does not prove that the pet is missing: it shows at
	// most 100 pets, in no promised order. So log what you are about to create, and the error's
	// CallID. "Retries" in the package documentation says which calls are writes.
	ErrOutcomeUnknown = errors.New("petstore: outcome unknown")
	// ErrAPIKey is matched by a TransportError: the function of WithAPIKeyFunc gave no valid key.
	ErrAPIKey = errors.New("petstore: no API key")
	// ErrInvalidResponse is matched by a ResponseError: the response does not follow the document.
	ErrInvalidResponse = errors.New("petstore: invalid response")
	// ErrInvalidArgument is matched by an ArgumentError: nothing was sent.
	ErrInvalidArgument = errors.New("petstore: invalid argument")
	// ErrNotSent is matched by every error of a call whose Attempts is 0. Such a call had a wrong
	// argument, no key or no connection; or the limiter refused it; or its context, WithCallTimeout
	// or WithStop ended it before that. A request that the server reported as not processed does
	// not count as sent either; see "Retries" in the package documentation. A transport of
	// [WithTransport] may return an error that wraps ErrNotSent.
	ErrNotSent = errors.New("petstore: not sent")
	// ErrStopped is matched by a TransportError of a call that [WithStop] ended.
	ErrStopped = errors.New("petstore: stopped by WithStop")
	// ErrTimeout is matched by an error of a call that exceeded [WithAttemptTimeout] or
	// [WithCallTimeout]. The error wraps a [net.Error] whose Timeout returns true.
	ErrTimeout = errors.New("petstore: timeout")
)

// Response describes the last HTTP response of a call. Each result, [APIError] and [ResponseError]
// of a call embeds one.
type Response struct {
	// StatusCode is the HTTP status code.
	StatusCode int
	// Header is the response's header.
	Header http.Header
	// RateLimit is the rate limit from the X-RateLimit headers (section 8.2).
	RateLimit RateLimit
	// Attempts is the number of requests that the call sent, in part or completely. A request that
	// the server reported as not processed does not count.
	Attempts int
}

// APIError reports a response other than the operation's success: an Error object of the service
// (sections 2 and 7), a redirect, or the response of a proxy or gateway. [errors.AsType] finds it
// in the error of a call, also inside a [RateLimitError].
type APIError struct {
	// Operation is an operationId of the document, such as createPet; CallID is call_id in the log.
	Operation, CallID string
	// Code and Message come from the Error object. Both are empty if the body is no Error object.
	// The document lists no codes: decide by status, or with errors.Is.
	Code, Message string
	// RetryAfter is how long the Retry-After header asks to wait after the response; 0 without a
	// valid header.
	RetryAfter time.Duration
	// Body is the start of the response's body, at most 4 KiB, without the API key in plain text.
	Body []byte
	Response
	// OutcomeUnknown reports whether the request was a write that may have been carried out.
	OutcomeUnknown bool

	received time.Time // when the response came
}

// Error returns one line of at most 512 bytes. Text of the server is quoted.
func (e *APIError) Error() string {
	code := cmp.Or(safetext.Token(e.Code), http.StatusText(e.StatusCode))
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

// RateLimitError reports a call that was given up because of the rate limit (section 8): the wait
// would exceed [WithMaxWait] or the context's deadline, the context ended during the wait, or the
// service answered the last attempt with 429. The service did not carry out the request.
type RateLimitError struct {
	// Operation is an operationId of the document, such as createPet; CallID is call_id in the log.
	Operation, CallID string
	// RetryAt is when a request may be sent again, by the local clock; zero if not known.
	RetryAt time.Time
	// RateLimit is the last known rate limit of the key.
	RateLimit RateLimit
	// Reason is the limit that made the call give up, for example "day"; empty if not known.
	Reason ratelimit.Reason
	// Attempts is the number of requests that the call sent; 0 if it was refused before the first.
	Attempts int
	// Err is the error of the last attempt, such as the *APIError of a 429; or the error and the
	// cause of the context that ended the wait; or all of these; nil if there is none.
	Err error
}

// Error returns one line of at most 512 bytes.
func (e *RateLimitError) Error() string {
	limited := ratelimit.Error{RetryAt: e.RetryAt, Reason: e.Reason}
	text := safetext.Prefix(e.Operation) + limited.Error() + when(e.Attempts == 0, ", nothing was sent")
	if e.Err != nil {
		text += ": " + safetext.TrimPrefix(e.Err, e.Operation)
	}
	return safetext.Line(text)
}

// Is reports whether target is [ErrRateLimited], or [ErrNotSent] if the call sent nothing.
func (e *RateLimitError) Is(target error) bool {
	return target == ErrRateLimited || target == ErrNotSent && e.Attempts == 0
}

// Unwrap returns Err.
func (e *RateLimitError) Unwrap() error { return e.Err }

// ResponseError reports a response that does not follow the service document: an undocumented
// success status, a media type other than JSON, malformed or truncated JSON, a missing required
// field, a body that is too large, or bytes that are not HTTP.
type ResponseError struct {
	// Operation is an operationId of the document, such as createPet; CallID is call_id in the log.
	Operation, CallID string
	// Reason is what is wrong with the response.
	Reason string
	// Body is the start of the response's body, at most 4 KiB, without the API key in plain text.
	Body     []byte
	Response // StatusCode is 0 if the response was not HTTP
	// OutcomeUnknown reports whether the request was a write that may have been carried out.
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

// Is reports whether target is [ErrInvalidResponse] or, if OutcomeUnknown, [ErrOutcomeUnknown].
func (e *ResponseError) Is(target error) bool {
	return target == ErrInvalidResponse || target == ErrOutcomeUnknown && e.OutcomeUnknown
}

// Unwrap returns Err.
func (e *ResponseError) Unwrap() error { return e.Err }

// TransportError reports a call that ended without a whole response: the connection failed, an
// attempt exceeded [WithAttemptTimeout], the function of [WithAPIKeyFunc] returned no valid key, or
// the call was ended: by the caller's context, by [WithCallTimeout] or by [WithStop].
//
// It matches [context.Canceled] or [context.DeadlineExceeded] only if the caller's own context
// ended. Then it also matches the cause of that context, unless the cause is an error of another
// call or context.
type TransportError struct {
	// Operation is an operationId of the document, such as createPet; CallID is call_id in the log.
	Operation, CallID string
	// Attempts is the number of requests that the call sent, in part or completely.
	Attempts int
	// OutcomeUnknown reports whether the last request was a write that may have been carried out.
	OutcomeUnknown bool
	// Err is the cause.
	Err error
}

// Error returns one line of at most 512 bytes.
func (e *TransportError) Error() string {
	text := safetext.Prefix(e.Operation) + safetext.TrimPrefix(e.Err, e.Operation)
	return errorLine(text, e.Operation, e.Attempts, e.OutcomeUnknown)
}

// Is reports whether target is [ErrNotSent] or [ErrOutcomeUnknown], according to the fields.
func (e *TransportError) Is(target error) bool {
	notSent := e.Attempts == 0 && !e.OutcomeUnknown
	return target == ErrNotSent && notSent || target == ErrOutcomeUnknown && e.OutcomeUnknown
}

// Unwrap returns Err.
func (e *TransportError) Unwrap() error { return e.Err }

// ArgumentError reports an argument that the service document rules out, or that cannot be sent.
type ArgumentError struct {
	// Operation is the name of the operation. For an error outside a call, it is the name of the
	// function, such as NewClient.
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

// callError is one of the five types above.
type callError interface {
	error
	callError()
}

func (*APIError) callError()       {}
func (*ArgumentError) callError()  {}
func (*RateLimitError) callError() {}
func (*ResponseError) callError()  {}
func (*TransportError) callError() {}

// errorLine returns text on one line, and two notes after it: the number of requests, if there were
// several, and what may have happened, if the outcome of a write is unknown.
func errorLine(text, opName string, attempts int, unknown bool) string {
	doubt := "; the request may have been carried out" // the note of Do, which has no operation
	op := operations[opName]
	if op != nil {
		doubt = "; " + op.doubt
	}
	number := when(attempts > 1, " ("+strconv.Itoa(attempts)+" attempts)")
	return safetext.Line(text, number, when(unknown, doubt))
}

// when returns text if applies is true, else the empty string.
func when(applies bool, text string) string {
	if applies {
		return text
	}
	return ""
}

// RetryAfter returns how long to wait from now before the call may be made again; 0 if that time
// has passed. It works for a 429, a 503 and a refusal of the limiter. It returns false if err has
// no such time. It also returns false if err matches [ErrOutcomeUnknown], because another call
// might carry out the same write twice.
func RetryAfter(err error) (time.Duration, bool) {
	if errors.Is(err, ErrOutcomeUnknown) {
		return 0, false
	}
	if e, ok := errors.AsType[*RateLimitError](err); ok && !e.RetryAt.IsZero() {
		return max(0, time.Until(e.RetryAt)), true
	}
	if e, ok := errors.AsType[*APIError](err); ok && e.RetryAfter > 0 {
		if e.received.IsZero() { // the error was made by a test, not by a client
			return e.RetryAfter, true
		}
		return max(0, time.Until(e.received.Add(e.RetryAfter))), true
	}
	return 0, false
}

// RetryAfterHeader returns the time of [RetryAfter] as the value of a Retry-After header for the
// caller's own clients: whole seconds from now, rounded up, at least 1.
func RetryAfterHeader(err error) (string, bool) {
	wait, ok := RetryAfter(err)
	if !ok {
		return "", false
	}
	return strconv.FormatFloat(max(1, math.Ceil(wait.Seconds())), 'f', 0, 64), true
}
