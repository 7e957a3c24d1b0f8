package petstore

import (
	"errors"
	"log/slog"
	"strconv"
	"time"

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

// LogValue returns limit, remaining and reset as a group; the group of the zero RateLimit is empty.
func (r RateLimit) LogValue() slog.Value {
	if r.IsZero() {
		return slog.GroupValue()
	}
	return slog.GroupValue(
		slog.Int("limit", r.Limit), slog.Int("remaining", r.Remaining), slog.Time("reset", r.Reset.UTC()))
}

// String returns the rate limit as text, such as "59 of 60 left until 2026-11-21T12:01:30Z";
// "unknown" for the zero RateLimit.
func (r RateLimit) String() string {
	if r.IsZero() {
		return "unknown"
	}
	left := strconv.Itoa(r.Remaining) + " of " + strconv.Itoa(r.Limit)
	return left + " left until " + r.Reset.UTC().Format(time.RFC3339)
}
