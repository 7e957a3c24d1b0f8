package petstore

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/internal/errtext"
)

// All errors have the same names for their attributes in a log: operation, kind (api, rate_limit,
// response, transport or argument), error (the text), status, code, message, attempts, retry_after,
// retry_at, scope, rate_limit, argument, reason, and outcome_unknown, which is left out unless
// true.

// LogValue returns the error as a group of attributes, without header and body.
func (e *APIError) LogValue() slog.Value {
	attrs := append(errorAttrs(e, "api", e.Operation, e.Response),
		slog.String("code", errtext.Line(e.Code)), slog.String("message", errtext.Line(e.Message)))
	if e.RetryAfter > 0 {
		attrs = append(attrs, slog.Duration("retry_after", e.RetryAfter))
	}
	return slog.GroupValue(attrs...)
}

// LogValue returns the error as a group of attributes.
func (e *RateLimitError) LogValue() slog.Value {
	attrs := errorAttrs(e, "rate_limit", e.Operation, Response{RateLimit: e.RateLimit, Attempts: e.Attempts})
	if e.Scope != "" {
		attrs = append(attrs, slog.String("scope", string(e.Scope)))
	}
	if !e.RetryAt.IsZero() {
		attrs = append(attrs, slog.Time("retry_at", e.RetryAt))
	}
	if last, ok := errors.AsType[*APIError](e.Err); ok {
		attrs = append(attrs, slog.Int("status", last.StatusCode))
	}
	return slog.GroupValue(attrs...)
}

// LogValue returns the error as a group of attributes, without header and body.
func (e *ResponseError) LogValue() slog.Value {
	attrs := append(errorAttrs(e, "response", e.Operation, e.Response), slog.String("reason", errtext.Line(e.Reason)))
	return slog.GroupValue(attrs...)
}

// LogValue returns the error as a group of attributes.
func (e *TransportError) LogValue() slog.Value {
	return slog.GroupValue(errorAttrs(e, "transport", e.Operation, Response{Attempts: e.Attempts})...)
}

// LogValue returns the error as a group of attributes.
func (e *ArgumentError) LogValue() slog.Value {
	attrs := append(errorAttrs(e, "argument", e.Operation, Response{}),
		slog.String("argument", errtext.Line(e.Argument)), slog.String("reason", errtext.Line(e.Reason)))
	return slog.GroupValue(attrs...)
}

// errorAttrs returns the attributes that all errors have.
func errorAttrs(err callError, kind, operation string, r Response) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("operation", operation),
		slog.String("kind", kind),
		slog.String("error", err.Error()),
		slog.Int("attempts", r.Attempts),
	}
	if r.StatusCode != 0 {
		attrs = append(attrs, slog.Int("status", r.StatusCode))
	}
	if !r.RateLimit.IsZero() {
		attrs = append(attrs, slog.Any("rate_limit", r.RateLimit))
	}
	if err.Is(ErrOutcomeUnknown) {
		attrs = append(attrs, slog.Bool("outcome_unknown", true))
	}
	return attrs
}

// callError is each error of a call. Its Is speaks of that call alone, where errors.Is may find
// another one, which ended the context or failed in the function of WithAPIKeyFunc.
type callError interface {
	error
	Is(target error) bool
}

// errorLine returns text with the number of attempts and, if err is about a create whose outcome is
// unknown, with that.
func errorLine(err callError, text string, attempts int) string {
	suffix := ""
	if attempts > 1 {
		suffix = " (" + strconv.Itoa(attempts) + " attempts)"
	}
	switch unknown := err.Is(ErrOutcomeUnknown); {
	case unknown && strings.HasPrefix(text, "petstore: "+opDo):
		suffix += "; the request may have been carried out"
	case unknown:
		suffix += "; the pet may have been created"
	}
	return errtext.LineWith(text, suffix)
}
