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
	"syscall"

	"github.com/petstore/petstore-go/internal/safetext"
)

// The groups of errors have the same names for the same attributes. TestErrorGoldenFiles
// compares them with the fields.

// LogValue returns the error as a group of attributes, without header and body.
func (e *APIError) LogValue() slog.Value {
	attrs := known(slog.Duration("retry_after", e.RetryAfter), lineAttr("not_retried", e.NotRetried))
	attrs = append(known(lineAttr("code", e.Code), lineAttr("message", e.Message)), attrs...)
	return errorValue(e, "api", e.Operation, e.CallID, e.Response, attrs...)
}

// LogValue returns the error as a group of attributes.
func (e *RateLimitError) LogValue() slog.Value {
	attrs := known(slog.String("scope", string(e.Scope)), slog.Time("retry_at", e.RetryAt))
	if last, ok := errors.AsType[*APIError](e.Err); ok {
		attrs = append(attrs, slog.Int("status", last.StatusCode))
	}
	r := Response{RateLimit: e.RateLimit, Attempts: e.Attempts}
	return errorValue(e, "rate_limit", e.Operation, e.CallID, r, attrs...)
}

// LogValue returns the error as a group of attributes, without header and body.
func (e *ResponseError) LogValue() slog.Value {
	return errorValue(e, "response", e.Operation, e.CallID, e.Response, lineAttr("reason", e.Reason))
}

// LogValue returns the error as a group of attributes.
func (e *TransportError) LogValue() slog.Value {
	return errorValue(e, "transport", e.Operation, e.CallID, Response{Attempts: e.Attempts},
		known(lineAttr("not_retried", e.NotRetried))...)
}

// LogValue returns the error as a group of attributes.
func (e *ArgumentError) LogValue() slog.Value {
	return errorValue(e, "argument", e.Operation, "", Response{},
		lineAttr("argument", e.Argument), lineAttr("reason", e.Reason))
}

// errorValue returns the attributes that all errors have, and more.
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
	return slog.GroupValue(append(attrs, more...)...)
}

// known returns the attributes that are not zero.
func known(attrs ...slog.Attr) []slog.Attr {
	return slices.DeleteFunc(attrs, func(a slog.Attr) bool { return reflect.ValueOf(a.Value.Any()).IsZero() })
}

func lineAttr(key, text string) slog.Attr { return slog.String(key, safetext.Line(text)) }

// ErrorType returns the class of Err, empty for a success: the status code of a response, else
// canceled (the caller's context was cancelled), stopped (by [WithStop]), timeout, rate_limited
// (given up without a 429), invalid_response, invalid_argument, connection_refused,
// connection_reset, connection_closed, name_resolution or certificate; the Go type of the cause of
// any other error, or _OTHER if that says nothing. The log has it as error_type.
func (i CallDoneInfo) ErrorType() string { return errorType(i.Err) }

// ErrorType returns the class of the failure as [CallDoneInfo].ErrorType does: the status code of a
// response of 400 or above, else the class of Err.
func (i AttemptDoneInfo) ErrorType() string {
	if i.StatusCode >= http.StatusBadRequest {
		return strconv.Itoa(i.StatusCode)
	}
	return errorType(i.Err)
}

// errorType returns the class of an error, never its text. An error matches several classes; the
// first of them ended the call.
func errorType(err error) string {
	refused, isAPI := errors.AsType[*APIError](err)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrInvalidArgument):
		return "invalid_argument"
	case errors.Is(err, ErrStopped):
		return "stopped"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrTimeout):
		return "timeout"
	case isAPI:
		return strconv.Itoa(refused.StatusCode)
	case errors.Is(err, ErrRateLimited):
		return "rate_limited"
	case errors.Is(err, ErrInvalidResponse):
		return "invalid_response"
	}
	return transportErrorType(err)
}

// The numbers of a socket's errors on Windows, where the constants of package syscall are others. No
// other system has errors of these numbers.
const (
	errWSAConnReset   = syscall.Errno(10054)
	errWSAConnRefused = syscall.Errno(10061)
)

// transportErrorType returns the class of an error of the network; the Go type of any other.
func transportErrorType(err error) string {
	timeout, ok := errors.AsType[net.Error](err)
	_, dns := errors.AsType[*net.DNSError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case ok && timeout.Timeout():
		return "timeout"
	case dns:
		return "name_resolution"
	case certificate:
		return "certificate"
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, errWSAConnRefused):
		return "connection_refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, errWSAConnReset):
		return "connection_reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection_closed"
	}
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(err) {
		err = cause
	}
	if name := fmt.Sprintf("%T", err); name != "*errors.errorString" { // which says nothing
		return name
	}
	return "_OTHER"
}
