package petstore

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/ratelimit"
)

// WithLogger makes the Client log to l. The messages, levels and attributes are stable:
//
//	petstore: attempt               Debug  method path attempt duration status rate_limit
//	                                       retry_after error_type error
//	petstore: waiting               Debug  reason until waiting
//	petstore: outcome unknown       Warn   duration error; a write may have been carried out
//	petstore: rate limit closed     Warn   reason until limit remaining sent processes; once for each
//	                                       lockout
//	petstore: rate limit open again Info   as for "rate limit closed"
//	petstore: key refused           Warn   status; once until the key works again
//	petstore: deprecated operation  Warn   removal instead; once
//
// Each line also has operation, key_id, which is a [Call].KeyID, and call_id, which is the same on
// all lines of a call. reason is a [ratelimit.Reason]. sent is how many requests of this process
// the window has counted, or may have counted. processes is the number of processes that use the
// key. An attribute without a value is left out. The API key and bodies are never logged. A nil
// logger, the default, logs nothing.
func WithLogger(l *slog.Logger) Option {
	return option{"WithLogger", "", func(c *config) {
		c.log = nil
		if l != nil {
			c.log = logTrace(l)
		}
	}}
}

// logTrace returns the trace that writes a log.
func logTrace(logger *slog.Logger) *ClientTrace {
	l := &clientLog{logger: logger}
	trace := ClientTrace{
		AttemptDone: l.attemptDone, CallDone: l.callDone, WaitStart: l.waitStart,
		LimitClosed: l.lockout(slog.LevelWarn, "petstore: rate limit closed"),
		LimitOpened: l.lockout(slog.LevelInfo, "petstore: rate limit open again"),
	}
	return trace.complete()
}

// clientLog is the log of a client and of the clients that its ForKey made.
type clientLog struct {
	logger     *slog.Logger
	deprecated atomic.Bool // the line about the deprecated operation was written
	refused    sync.Map    // the Call.KeyID of each key that the service answers with 401
}

// write writes a line with the attributes that all lines have, and then more.
func (l *clientLog) write(ctx context.Context, c Call, level slog.Level, message string, more ...slog.Attr) {
	attrs := []slog.Attr{
		slog.String("operation", c.Operation), slog.String("call_id", c.ID), slog.String("key_id", c.KeyID),
	}
	l.logger.LogAttrs(ctx, level, message, withValue(append(attrs, more...))...)
}

func (l *clientLog) attemptDone(ctx context.Context, info AttemptDoneInfo) {
	if l.logger.Enabled(ctx, slog.LevelDebug) { // the attributes take time
		text := ""
		if info.Err != nil {
			text = info.Err.Error()
		}
		l.write(ctx, info.Call, slog.LevelDebug, "petstore: attempt",
			slog.String("method", info.Call.Method), slog.String("path", info.Call.Template),
			slog.Int("attempt", info.Call.Attempt), slog.Duration("duration", info.Duration),
			slog.Int("status", info.StatusCode), slog.Any("rate_limit", info.RateLimit),
			slog.Duration("retry_after", info.RetryAfter), slog.String("error_type", info.ErrorType()),
			lineAttr("error", text))
	}
	if info.StatusCode/100 == 2 {
		l.refused.Delete(info.Call.KeyID)
	} else if info.StatusCode == http.StatusUnauthorized {
		_, wasRefused := l.refused.LoadOrStore(info.Call.KeyID, true)
		if !wasRefused {
			l.write(ctx, info.Call, slog.LevelWarn, "petstore: key refused", slog.Int("status", info.StatusCode))
		}
	}
}

func (l *clientLog) callDone(ctx context.Context, info CallDoneInfo) {
	if errors.Is(info.Err, ErrOutcomeUnknown) {
		l.write(ctx, info.Call, slog.LevelWarn, "petstore: outcome unknown",
			slog.Duration("duration", info.Duration), lineAttr("error", info.Err.Error()))
	}
	op := operations[info.Call.Operation]
	if op != nil && op.removal != "" && !l.deprecated.Swap(true) {
		l.write(ctx, info.Call, slog.LevelWarn, "petstore: deprecated operation",
			slog.String("removal", op.removal), slog.String("instead", op.instead))
	}
}

// waitStart logs that a call waits, and for what. Near the limit, waits are usual: hence Debug.
func (l *clientLog) waitStart(ctx context.Context, c Call, w ratelimit.Wait) {
	l.write(ctx, c, slog.LevelDebug, "petstore: waiting",
		slog.String("reason", string(w.Reason)), slog.Time("until", w.Until), slog.Int("waiting", w.Waiting))
}

// lockout returns a function that logs a lockout: its limit, its end, and the numbers that show
// whose requests use up the limit.
func (l *clientLog) lockout(level slog.Level, message string) func(context.Context, Call, ratelimit.Lockout) {
	return func(ctx context.Context, c Call, lockout ratelimit.Lockout) {
		attrs := []slog.Attr{slog.String("reason", string(lockout.Reason)), slog.Time("until", lockout.Until)}
		if w := lockout.Window; !w.IsZero() {
			attrs = append(attrs, slog.Int("limit", w.Limit), slog.Int("remaining", w.Remaining))
		}
		attrs = append(attrs, slog.Int("sent", lockout.Sent), slog.Int("processes", lockout.Processes))
		l.write(ctx, c, level, message, attrs...)
	}
}

// LogValue returns the error as a group of attributes, without header and body.
func (e *APIError) LogValue() slog.Value {
	return errorValue(e, "api", e.Operation, e.CallID, e.Response,
		lineAttr("code", e.Code), lineAttr("message", e.Message), slog.Duration("retry_after", e.RetryAfter))
}

// LogValue returns the error as a group of attributes.
func (e *RateLimitError) LogValue() slog.Value {
	r := Response{RateLimit: e.RateLimit, Attempts: e.Attempts}
	return errorValue(e, "rate_limit", e.Operation, e.CallID, r,
		slog.String("reason", string(e.Reason)), slog.Time("retry_at", e.RetryAt))
}

// LogValue returns the error as a group of attributes, without header and body.
func (e *ResponseError) LogValue() slog.Value {
	return errorValue(e, "response", e.Operation, e.CallID, e.Response, lineAttr("reason", e.Reason))
}

// LogValue returns the error as a group of attributes.
func (e *TransportError) LogValue() slog.Value {
	return errorValue(e, "transport", e.Operation, e.CallID, Response{Attempts: e.Attempts})
}

// LogValue returns the error as a group of attributes.
func (e *ArgumentError) LogValue() slog.Value {
	return errorValue(e, "argument", e.Operation, "", Response{},
		lineAttr("argument", e.Argument), lineAttr("reason", e.Reason))
}

// errorValue returns the attributes that every error has, and then more. An attribute means the
// same in all errors that have it.
func errorValue(err error, kind, opName, callID string, r Response, more ...slog.Attr) slog.Value {
	return slog.GroupValue(withValue(append([]slog.Attr{
		slog.String("operation", opName), slog.String("kind", kind), slog.String("error", err.Error()),
		slog.String("error_type", errorType(err)), slog.Int("attempts", r.Attempts), slog.String("call_id", callID),
		slog.Int("status", r.StatusCode), slog.Any("rate_limit", r.RateLimit),
		slog.Bool("not_sent", errors.Is(err, ErrNotSent)),
		slog.Bool("outcome_unknown", errors.Is(err, ErrOutcomeUnknown)),
	}, more...))...)
}

// withValue returns the attributes that have a value. A zero is a value only of some numbers: any
// other zero says nothing, and makes a line longer.
func withValue(attrs []slog.Attr) []slog.Attr {
	numbers := []string{"duration", "waiting", "remaining", "sent"}
	return slices.DeleteFunc(attrs, func(a slog.Attr) bool {
		return reflect.ValueOf(a.Value.Any()).IsZero() && !slices.Contains(numbers, a.Key)
	})
}

// lineAttr returns an attribute with a text that may come from the server or from code of the user.
// The text is put on one line, so that it cannot forge a line of the log.
func lineAttr(key, text string) slog.Attr { return slog.String(key, safetext.Line(text)) }
