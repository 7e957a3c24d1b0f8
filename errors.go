package petstore

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// What an error of a call matches under [errors.Is]. One error may match several.
var (
	// ErrBadRequest is matched by an APIError with status 400: the service refused the request's
	// body (section 7).
	ErrBadRequest = errors.New("petstore: bad request")
	// ErrUnauthorized is matched by an APIError with status 401: the API key is missing, wrong or
	// revoked (section 5).
	ErrUnauthorized = errors.New("petstore: unauthorized")
	// ErrNotFound is matched by an APIError with status 404 (section 7).
	ErrNotFound = errors.New("petstore: not found")
	// ErrRateLimited is matched by a RateLimitError and by an APIError with status 429
	// (section 8.3). The request was not carried out.
	ErrRateLimited = errors.New("petstore: rate limited")
	// ErrOutcomeUnknown is matched by an error of CreatePet that leaves open whether the pet was
	// added. Such a request is never sent again: the service cannot distinguish a repetition
	// from a second pet.
	ErrOutcomeUnknown = errors.New("petstore: outcome unknown")
	// ErrInvalidResponse is matched by a ResponseError: the response cannot be trusted.
	ErrInvalidResponse = errors.New("petstore: invalid response")
	// ErrInvalidArgument is matched by an ArgumentError: nothing was sent.
	ErrInvalidArgument = errors.New("petstore: invalid argument")
)

// Bounds of what an error keeps of a response.
const (
	maxErrorText = 512
	maxErrorBody = 4 << 10
)

// APIError is a response of the service other than the operation's success: an Error object
// (sections 2 and 7), a redirect, or whatever something in between answered instead.
// It is what [errors.AsType] finds in the error of a call, also within a [RateLimitError].
type APIError struct {
	// Operation is the name of the operation in the service document: "createPet".
	Operation string
	// Code and Message come from the Error object; both are empty if the body was none, or over 1 MiB.
	// The document fixes no set of codes: decide by status, or with errors.Is.
	Code    string
	Message string
	// RetryAfter is how long the response asked the client to stay away; 0 if it did not.
	RetryAfter time.Duration
	// Body is the start of the response's body as it came, at most 4 KiB.
	Body []byte
	// Response describes the exchange: StatusCode, Header, RateLimit, Attempts.
	Response

	tooLong bool // the call was not retried since RetryAfter does not fit
}

// Error returns one line of at most 512 bytes. What the server said in it is quoted.
func (e *APIError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "petstore: %s: %d", e.Operation, e.StatusCode)
	switch {
	case e.Code != "":
		b.WriteString(" " + token(e.Code))
	case http.StatusText(e.StatusCode) != "":
		b.WriteString(" " + http.StatusText(e.StatusCode))
	}
	if e.Message != "" {
		b.WriteString(": " + quote(e.Message))
	}
	switch {
	case e.StatusCode >= 300 && e.StatusCode <= 399:
		b.WriteString(": redirects are not followed")
	case e.tooLong:
		b.WriteString(": not retried, since Retry-After " + e.RetryAfter.String() + " is longer than the call may wait")
	}
	return errorLine(b.String(), attemptsText(e.Attempts)+outcomeText(e))
}

// Is reports whether target is the sentinel of the status code, or [ErrOutcomeUnknown] for a response
// to createPet that leaves open whether the pet was added.
func (e *APIError) Is(target error) bool {
	switch target {
	case ErrBadRequest:
		return e.StatusCode == http.StatusBadRequest
	case ErrUnauthorized:
		return e.StatusCode == http.StatusUnauthorized
	case ErrNotFound:
		return e.StatusCode == http.StatusNotFound
	case ErrRateLimited:
		return e.StatusCode == http.StatusTooManyRequests
	case ErrOutcomeUnknown:
		return e.Operation == opCreatePet && (transientStatus(e.StatusCode) || e.StatusCode/100 == 3)
	}
	return false
}

// RateLimitError reports a call that was given up because of the rate limit (section 8): the wait
// would not fit [WithMaxWait] or the context, the context ended during the wait, or the service
// answered 429 to the last attempt. The request was not carried out.
//
// It matches [ErrRateLimited] and unwraps to the [*APIError] of the 429, if there was one, and to
// the context's error and cause, if the context ended the wait.
type RateLimitError struct {
	// Operation is the name of the operation; empty if a Limiter was asked directly.
	Operation string
	// RetryAt is when a request may be sent again, by the local clock. Zero if not known.
	RetryAt time.Time
	// RateLimit is what was last known of the key's quota.
	RateLimit RateLimit
	// Scope is what the call would have had to wait for. Zero if not known.
	Scope LimitScope
	// Local reports that the call was refused before anything was sent.
	Local bool
	// Attempts is the number of requests the call sent.
	Attempts int
	// Err is what else is known: nil, the 429, the end of the context, or both.
	Err error
}

// Error returns one line of at most 512 bytes.
func (e *RateLimitError) Error() string {
	var b strings.Builder
	b.WriteString("petstore: ")
	if e.Operation != "" {
		b.WriteString(e.Operation + ": ")
	}
	b.WriteString("rate limited")
	if e.Scope != "" {
		b.WriteString(" (" + string(e.Scope) + ")")
	}
	if !e.RetryAt.IsZero() {
		b.WriteString(" until " + e.RetryAt.UTC().Format(time.RFC3339))
	}
	if e.Local {
		b.WriteString(", nothing was sent")
	}
	if e.Err != nil {
		b.WriteString(": " + trimPrefix(e.Err, e.Operation))
	}
	return oneLine(b.String())
}

// RetryAfter returns RetryAt as the value of a Retry-After header, for a server that passes the refusal on: whole
// seconds from now, rounded up, at least 1; empty if RetryAt is not known.
func (e *RateLimitError) RetryAfter() string {
	if e.RetryAt.IsZero() {
		return ""
	}
	seconds := (time.Until(e.RetryAt) + time.Second - 1) / time.Second
	return strconv.FormatInt(int64(max(1, seconds)), 10)
}

// Is reports whether target is [ErrRateLimited].
func (e *RateLimitError) Is(target error) bool { return target == ErrRateLimited }

// Unwrap returns Err.
func (e *RateLimitError) Unwrap() error { return e.Err }

// ArgumentError reports an argument of a call that the service document rules out, or that cannot be
// sent. Nothing was sent. It matches [ErrInvalidArgument].
type ArgumentError struct {
	// Operation is the name of the operation, or "NewClient".
	Operation string
	// Argument is the name of the parameter, field or option: "Limit".
	Argument string
	// Reason says what is wrong with it.
	Reason string
}

// withOperation adds the operation to an argument's error, and to another the path it is on.
func withOperation(err error, operation string) error {
	if e, ok := errors.AsType[*ArgumentError](err); ok {
		e.Operation = operation
		return e
	}
	return fmt.Errorf("petstore: %s: %w", operation, err)
}

// Error returns one line of at most 512 bytes.
func (e *ArgumentError) Error() string {
	return oneLine("petstore: " + e.Operation + ": " + e.Argument + ": " + e.Reason)
}

// Is reports whether target is [ErrInvalidArgument].
func (e *ArgumentError) Is(target error) bool { return target == ErrInvalidArgument }

// ResponseError reports a response that does not follow the service document: an undocumented success
// status, another media type than JSON, malformed or truncated JSON, a missing required field, a body
// too large, or bytes that are no HTTP. It matches [ErrInvalidResponse], and [ErrOutcomeUnknown] if the
// operation is createPet: the request was taken, the response is lost.
type ResponseError struct {
	// Operation is the name of the operation in the service document: "createPet".
	Operation string
	// Reason says what is wrong with the response.
	Reason string
	// Body is the start of the response's body as it came, at most 4 KiB.
	Body []byte
	// Response describes the exchange; StatusCode is 0 if the response was no HTTP.
	Response
	// Err is the cause in the transport or the decoder, nil if there is none.
	Err error
}

// Error returns one line of at most 512 bytes.
func (e *ResponseError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "petstore: %s: invalid response", e.Operation)
	if e.StatusCode != 0 {
		fmt.Fprintf(&b, " (status %d)", e.StatusCode)
	}
	b.WriteString(": " + e.Reason)
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return errorLine(b.String(), attemptsText(e.Attempts)+outcomeText(e))
}

// Is reports whether target is [ErrInvalidResponse], or [ErrOutcomeUnknown] for createPet.
func (e *ResponseError) Is(target error) bool {
	return target == ErrInvalidResponse || target == ErrOutcomeUnknown && e.Operation == opCreatePet
}

// Unwrap returns Err.
func (e *ResponseError) Unwrap() error { return e.Err }

// TransportError reports a call that ended without a response: the connection failed, an attempt ran
// into [WithAttemptTimeout], the key could not be had, or the caller's context ended.
//
// It unwraps to the cause. [context.Canceled] and [context.DeadlineExceeded] are matched only if the
// caller's own context ended, and then its [context.Cause] is matched too. It matches
// [ErrOutcomeUnknown] if the operation is createPet and its request may have been written.
type TransportError struct {
	// Operation is the name of the operation in the service document: "createPet".
	Operation string
	// Attempts is the number of attempts begun, the failed one included, even if that failed for want of
	// a key; 0 if the context ended before the first.
	Attempts int
	// Sent reports that the last request may have been written, in part or whole; false if nothing was.
	Sent bool
	// Err is the cause.
	Err error
}

// Error returns one line of at most 512 bytes.
func (e *TransportError) Error() string {
	text := "petstore: " + e.Operation + ": " + trimPrefix(e.Err, e.Operation)
	return errorLine(text, attemptsText(e.Attempts)+outcomeText(e))
}

// Is reports whether target is [ErrOutcomeUnknown], and the outcome is.
func (e *TransportError) Is(target error) bool {
	// A request that was answered 429 was written and not carried out.
	return target == ErrOutcomeUnknown && e.Sent && e.Operation == opCreatePet && !errors.Is(e.Err, ErrRateLimited)
}

// Unwrap returns Err.
func (e *TransportError) Unwrap() error { return e.Err }
