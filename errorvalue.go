package petstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/ratelimit"
)

// The LogValue of each error returns a group of attributes, with one name for one thing in all
// groups. TestErrorGoldenFiles compares the groups with the fields of the errors.

// LogValue returns the error as a group of attributes, without header and body.
func (e *APIError) LogValue() slog.Value {
	return errorValue(e, "api", e.Operation, e.CallID, e.Response, lineAttr("code", e.Code), lineAttr("message", e.Message),
		slog.Duration("retry_after", e.RetryAfter), lineAttr("not_retried", e.NotRetried))
}

// LogValue returns the error as a group of attributes.
func (e *RateLimitError) LogValue() slog.Value {
	r := Response{RateLimit: e.RateLimit, Attempts: e.Attempts}
	if last, ok := errors.AsType[*APIError](e.Err); ok {
		r.StatusCode = last.StatusCode
	}
	return errorValue(e, "rate_limit", e.Operation, e.CallID, r, slog.String("scope", string(e.Reason)), slog.Time("retry_at", e.RetryAt))
}

// LogValue returns the error as a group of attributes, without header and body.
func (e *ResponseError) LogValue() slog.Value {
	return errorValue(e, "response", e.Operation, e.CallID, e.Response, lineAttr("reason", e.Reason))
}

// LogValue returns the error as a group of attributes.
func (e *TransportError) LogValue() slog.Value {
	r := Response{Attempts: e.Attempts}
	return errorValue(e, "transport", e.Operation, e.CallID, r, lineAttr("not_retried", e.NotRetried))
}

// LogValue returns the error as a group of attributes.
func (e *ArgumentError) LogValue() slog.Value {
	return errorValue(e, "argument", e.Operation, "", Response{}, lineAttr("argument", e.Argument), lineAttr("reason", e.Reason))
}

// errorValue returns the attributes that all errors have, followed by those in more that are not
// zero.
func errorValue(err callError, kind, operation, callID string, r Response, more ...slog.Attr) slog.Value {
	attrs := []slog.Attr{
		slog.String("operation", operation),
		slog.String("kind", kind),
		slog.String("error", err.Error()),
		slog.String("error_type", errorType(err)),
		slog.Int("attempts", r.Attempts),
	}
	attrs = append(attrs, known(
		slog.String("call_id", callID),
		slog.Int("status", r.StatusCode),
		slog.Any("rate_limit", r.RateLimit),
		slog.Bool("not_sent", err.Is(ErrNotSent)),
		slog.Bool("outcome_unknown", err.Is(ErrOutcomeUnknown)))...)
	return slog.GroupValue(append(attrs, known(more...)...)...)
}

// known returns the attributes that are not zero. An attribute that is zero says nothing, and would
// only make the line longer.
func known(attrs ...slog.Attr) []slog.Attr {
	return slices.DeleteFunc(attrs, func(a slog.Attr) bool { return reflect.ValueOf(a.Value.Any()).IsZero() })
}

// lineAttr returns an attribute with a text that may come from the server or from code of the user.
// It is put on one line, so that it cannot forge a line of the log.
func lineAttr(key, text string) slog.Attr { return slog.String(key, safetext.Line(text)) }

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

// operationOf returns the operation with that name. For a name that is not in the service document,
// such as those of Do, it returns an operation that has only a name and a doubt.
func operationOf(name string) *operation {
	for _, o := range operations {
		if o.name == name {
			return o
		}
	}
	return &operation{name: name, doubt: "the request may have been carried out"}
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
	if hidden, ok := errors.AsType[*foreignError](err); ok {
		err = hidden.err
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

// foreign returns err, which came from outside the call: from a function, a transport or a limiter
// of the user, or as the cause of a context. If err matches an error of this package or the end of
// a context, it may be about another call. Then what foreign returns keeps the text, but does not
// match these errors.
func foreign(err error) error {
	if err == nil || !speaksOfCalls(err) {
		return err
	}
	return &foreignError{err}
}

// ofCalls are the errors that say something about a call, or about the end of its context. If the
// error of a call wraps one that is about another call, it must not match these.
var ofCalls = [...]error{
	ErrBadRequest, ErrUnauthorized, ErrNotFound, ErrRateLimited, ErrOutcomeUnknown, ErrAPIKey, ErrInvalidResponse,
	ErrInvalidArgument, ErrNotSent, ErrStopped, ErrTimeout, context.Canceled, context.DeadlineExceeded,
}

// speaksOfCalls reports whether err, or an error that it wraps, is about a call.
func speaksOfCalls(err error) bool {
	_, ofCall := errors.AsType[callError](err)
	_, ofLimiter := errors.AsType[*ratelimit.Error](err)
	return ofCall || ofLimiter || slices.ContainsFunc(ofCalls[:], func(target error) bool { return errors.Is(err, target) })
}

// foreignError has no Unwrap, or errors.Is would find in it what it hides.
type foreignError struct{ err error }

func (e *foreignError) Error() string { return e.err.Error() }

// Is lets errors.Is find what err matches, except what is said about a call. It finds err itself.
func (e *foreignError) Is(target error) bool {
	return !slices.Contains(ofCalls[:], target) && errors.Is(e.err, target)
}

// As lets errors.As find what err wraps, except the types of the errors of a call.
func (e *foreignError) As(target any) bool {
	switch target.(type) {
	case **APIError, **ArgumentError, **RateLimitError, **ResponseError, **TransportError, **ratelimit.Error, *callError:
		return false
	}
	// It is the target of the caller of errors.As, so it is a pointer.
	return errors.As(e.err, target)
}
