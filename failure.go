package petstore

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/textproto"
	"net/url"
	"strings"
	"time"
)

// failure is the kind of an attempt's error, as far as retrying depends on it.
//
//	symptom                                       failure      error of the call
//	dial refused, reset, cut off, timed out       connection   *TransportError; *ResponseError if a 2xx is cut off
//	unknown host, certificate, TLS alert, no key  permanent    *TransportError
//	bytes that are not HTTP                       protocol     *ResponseError (ErrInvalidResponse)
type failure int

const (
	failureNone       failure = iota
	failureConnection         // may pass
	failurePermanent          // will be the same the next time
	failureProtocol           // a response that is no HTTP
)

// kindOf classifies err; what is unknown is taken for transient.
func kindOf(err error) failure {
	if notHTTP(err) {
		return failureProtocol
	}
	dns, ok := errors.AsType[*net.DNSError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	if ok && dns.IsNotFound || alert || noTLS(err) || errors.Is(err, errNothing) || containsAny(err.Error(),
		"unsupported protocol scheme", "server gave HTTP response to HTTPS client") {
		return failurePermanent
	}
	return failureConnection
}

// neverConnected reports whether err says that there was no connection to write to.
func neverConnected(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "dial" || op.Op == "proxyconnect") || noTLS(err)
}

// noTLS reports whether the handshake failed because of what the server is.
func noTLS(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	return certificate || record
}

// notHTTP goes by the text of the error where net/http has no exported type.
func notHTTP(err error) bool {
	if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
		return true
	}
	return containsAny(err.Error(), "malformed HTTP", "malformed MIME header", "bad Content-Length",
		"multiple Content-Length", "transfer encoding", "response headers exceeded",
		"connection error: PROTOCOL_ERROR")
}

func containsAny(s string, substrings ...string) bool {
	for _, sub := range substrings {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

// attribute decides whose deadline err is: the caller's, the attempt's, or another's, as a dialer's, which
// then must not look like either.
func (k *call) attribute(a *attempt, err error) error {
	if ended := endOf(k.ctx.Context); ended != nil {
		return ended
	}
	if a.wire.repeated.Load() {
		return errNotRepeated
	}
	if contextErr(&a.context) != nil {
		return &attemptTimeoutError{k.config.attemptTimeout}
	}
	_, ofKey := errors.AsType[*keyError](err)
	if urlErr, ok := errors.AsType[*url.Error](err); ok && !ofKey {
		err = urlErr.Err // no URL in an error
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &foreignContextError{err}
	}
	return err
}

// attemptTimeoutError is the end of WithAttemptTimeout. It is not context.DeadlineExceeded: that speaks
// of the caller's context.
type attemptTimeoutError struct{ after time.Duration }

func (e *attemptTimeoutError) Error() string { return "attempt timed out after " + e.after.String() }
func (e *attemptTimeoutError) Timeout() bool { return true }

// foreignContextError hides from errors.Is that err matches an error of package context, as the timeout of
// a dialer does.
type foreignContextError struct{ err error }

func (e *foreignContextError) Error() string { return e.err.Error() }

func (e *foreignContextError) Timeout() bool {
	err, ok := errors.AsType[net.Error](e.err)
	return ok && err.Timeout()
}

// contextErr is ctx.Err(), or what it is about to be: a deadline that has passed may be seen by the network
// before the context's own timer has fired.
func contextErr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && over(deadline, time.Now()) {
		return context.DeadlineExceeded
	}
	return nil
}

// over reports whether t is zero, or not after now by either clock: while a machine is suspended the monotonic clock
// may stand still and the wall clock goes on.
func over(t, now time.Time) bool {
	return t.IsZero() || !t.After(now) || !t.Round(0).After(now.Round(0))
}

// endedError is the end of the caller's context during a call, with what else is known.
type endedError struct {
	ended error // context.Canceled or context.DeadlineExceeded
	cause error // context.Cause, if it is another
	last  error // the error of the last attempt, if there was one
}

func (e *endedError) Error() string {
	text := e.ended.Error()
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	if e.last != nil {
		text += "; last attempt: " + e.last.Error()
	}
	return oneLine(text)
}

func (e *endedError) Unwrap() []error {
	errs := []error{e.ended}
	for _, err := range []error{e.cause, e.last} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// endOf is the end of a caller's context as an error, nil if it has not ended.
func endOf(ctx context.Context) error {
	err := contextErr(ctx)
	if err == nil {
		return nil
	}
	ended := &endedError{ended: err}
	ended.learnCause(ctx)
	return ended
}

func (e *endedError) learnCause(ctx context.Context) {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(e.ended, cause) {
		e.cause = cause
	}
}

// awaitEnd lets a context end that the clock has overtaken: only then it has its error and a cause. That takes
// its timer no time to speak of; a context that never ends after its deadline is not waited for.
func (k *call) awaitEnd(err error) {
	ctx := k.ctx.Context
	ended, ok := errors.AsType[*endedError](err)
	if !ok || ended.cause != nil || contextErr(ctx) == nil {
		return
	}
	timer := time.NewTimer(endGrace)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	ended.learnCause(ctx)
}

// endGrace is ample for a timer that is due: a busy machine may run it some milliseconds late.
const endGrace = 100 * time.Millisecond
