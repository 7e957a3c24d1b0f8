package petstore

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/safetext"
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

// timeoutError is the [net.Error] of an attempt or a call that exceeded its timeout. It says which
// option set the timeout.
type timeoutError struct{ text string }

func (e *timeoutError) Error() string        { return e.text }
func (e *timeoutError) Is(target error) bool { return target == ErrTimeout }
func (e *timeoutError) Timeout() bool        { return true }
func (e *timeoutError) Temporary() bool      { return true }

// keyError is the reason why there is no API key; it matches ErrAPIKey.
type keyError struct{ error }

func (e *keyError) Is(target error) bool { return target == ErrAPIKey }
func (e *keyError) Unwrap() error        { return e.error }

// maxErrorBody is how many bytes of a response's body an error keeps: enough for an Error object,
// and to recognise the HTML page of a gateway.
const maxErrorBody = 4 << 10

// APIError reports a response other than the operation's success: an Error object of the service
// (sections 2 and 7), a redirect, or the response of a proxy or gateway. [errors.AsType] finds it
// in the error of a call, also inside a [RateLimitError].
type APIError struct {
	// Operation is the name of the operation in the service document: "createPet".
	Operation string
	// CallID is the call_id of the call's lines in the log.
	CallID string
	// Code and Message come from the Error object. Both are empty if the body is no Error object,
	// or is longer than 1 MiB. The document lists no codes: decide by status, or with errors.Is.
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
	// NotRetried says why the call was not retried again, if its status is retried and its policy
	// allowed a further attempt; empty otherwise.
	NotRetried string

	received time.Time // when the response came
}

// Error returns one line of at most 512 bytes. Text of the server is quoted.
func (e *APIError) Error() string {
	code := http.StatusText(e.StatusCode)
	if e.Code != "" {
		code = safetext.Token(e.Code)
	}
	redirect := e.StatusCode/100 == 3 && e.StatusCode != http.StatusNotModified
	note := cmp.Or(when(redirect, "redirects are not followed"), when(e.NotRetried != "", "not retried: "+e.NotRetried))
	return errorLine(safetext.Prefix(e.Operation)+strconv.Itoa(e.StatusCode)+
		when(code != "", " "+code)+
		when(e.RetryAfter > 0, ", Retry-After "+e.RetryAfter.String())+
		when(e.Message != "", ": "+safetext.Quote(e.Message))+
		when(note != "", ": "+note), e.Operation, e.Attempts, e.OutcomeUnknown)
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
// ended; it then also matches the [context.Cause].
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
	// NotRetried says why the call was not retried again, if such a failure is retried and its policy
	// allowed a further attempt; empty otherwise.
	NotRetried string
	// Err is the cause.
	Err error

	tries int // attempts, also those that sent nothing
}

// Error returns one line of at most 512 bytes.
func (e *TransportError) Error() string {
	text := safetext.Prefix(e.Operation) + safetext.TrimPrefix(e.Err, e.Operation) +
		when(e.NotRetried != "", ": not retried: "+e.NotRetried)
	// If some attempts sent nothing, the text has the number of all of them, too.
	tries := when(e.tries > max(e.Attempts, 1), " ("+strconv.Itoa(e.tries)+" tries)")
	return errorLine(text, e.Operation, e.Attempts, e.OutcomeUnknown, tries)
}

// Is reports whether target is [ErrNotSent] while nothing was sent, or is [ErrOutcomeUnknown] while
// the field OutcomeUnknown is set.
func (e *TransportError) Is(target error) bool {
	return target == ErrNotSent && e.Attempts == 0 || target == ErrOutcomeUnknown && e.OutcomeUnknown
}

// Unwrap returns Err.
func (e *TransportError) Unwrap() error { return e.Err }

// callError is implemented by the five types of errors of a call. Its method Is answers for that
// call alone. errors.Is would also search the wrapped errors, which may belong to another call: one
// that ended the context, or that the function of WithAPIKeyFunc made.
type callError interface {
	error
	slog.LogValuer
	Is(target error) bool
}

// errorLine returns text with notes behind it: the number of requests and, if the outcome of a
// write is unknown, what may have happened.
func errorLine(text, operation string, sent int, unknown bool, notes ...string) string {
	notes = append(notes, when(sent > 1, " ("+strconv.Itoa(sent)+" attempts)"))
	if unknown {
		notes = append(notes, "; "+operationOf(operation).doubt)
	}
	return safetext.Line(text, notes...)
}

// when returns text if applies is true, else the empty string. It saves an if for each part of a
// text.
func when(applies bool, text string) string {
	if applies {
		return text
	}
	return ""
}
