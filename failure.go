package petstore

import (
	"context"
	"errors"
	"net"
	"net/url"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/errtext"
	"github.com/petstore/petstore-go/internal/wire"
)

// kindOf classifies the error of a. After the header of a response, any error cuts off its body.
func (a *attempt) kindOf(err error) wire.Failure {
	if a.statusCode != 0 {
		return wire.Connection
	}
	return a.wire.KindOf(err, &a.request, a.sent)
}

// attribute decides which deadline expired: the caller's, the attempt's, or another, such as a
// dialer's, which must not match the errors of the first two.
func (k *call) attribute(a *attempt, err error) error {
	if ended := endOf(k.ctx.Context); ended != nil {
		return ended
	}
	if a.wire.Repeated() {
		return wire.ErrNotRepeated
	}
	if a.wire.Unprocessed(err) {
		return wire.ErrUnprocessed
	}
	// If the server does not speak HTTP, another attempt does not help, however late the response
	// was.
	if deadline.Err(&a.context) != nil && !wire.NotHTTP(err) {
		return &attemptTimeoutError{k.config.attemptTimeout}
	}
	_, ofKey := errors.AsType[*credential.FuncError](err)
	if urlErr, ok := errors.AsType[*url.Error](err); ok && !ofKey {
		err = urlErr.Err // no URL in an error
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &foreignContextError{err}
	}
	return errtext.WithoutOwnPort(err)
}

// attemptTimeoutError reports that an attempt exceeded WithAttemptTimeout. It does not match
// context.DeadlineExceeded, which is for the caller's context.
type attemptTimeoutError struct{ after time.Duration }

func (e *attemptTimeoutError) Error() string { return "attempt timed out after " + e.after.String() }
func (e *attemptTimeoutError) Timeout() bool { return true }

// foreignContextError has the text of an error that matches one of package context although the
// caller's context has not ended, such as the timeout of a dialer. It does not unwrap to that
// error.
type foreignContextError struct{ err error }

func (e *foreignContextError) Error() string { return e.err.Error() }

func (e *foreignContextError) Timeout() bool {
	err, ok := errors.AsType[net.Error](e.err)
	return ok && err.Timeout()
}

// endedError reports that the caller's context ended during a call.
type endedError struct {
	ended error // context.Canceled or context.DeadlineExceeded
	cause error // context.Cause, if it is a different error
	last  error // error of the last attempt, if there was one
}

func (e *endedError) Error() string {
	text := e.ended.Error()
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	if e.last != nil {
		text += "; last attempt: " + e.last.Error()
	}
	return errtext.Line(text)
}

// with returns e with the error of the last attempt; that error alone if e is nil.
func (e *endedError) with(last error) error {
	if e == nil {
		return last
	}
	return &endedError{e.ended, e.cause, last}
}

func (e *endedError) Unwrap() []error {
	errs := []error{e.ended}
	if e.cause != nil {
		errs = append(errs, &causeError{e.cause})
	}
	if e.last != nil {
		errs = append(errs, e.last)
	}
	return errs
}

// causeError is the cause of a context: it matches what the cause matches, except the outcome. The
// cause may be the error of another call, and says nothing about the requests of this one.
type causeError struct{ cause error }

func (e *causeError) Error() string { return e.cause.Error() }
func (e *causeError) As(target any) bool {
	return errors.As(e.cause, target) //nolint:forbidigo // it passes the caller's variable on
}

func (e *causeError) Is(target error) bool {
	return target != ErrOutcomeUnknown && target != ErrNotSent && errors.Is(e.cause, target)
}

// endOf returns an *endedError if the context has ended, else nil.
func endOf(ctx context.Context) error {
	err := deadline.Err(ctx)
	if err == nil {
		return nil
	}
	ended := &endedError{ended: err}
	ended.learnCause(ctx)
	return ended
}

// learnCause adds the cause of ctx, if it has one.
func (e *endedError) learnCause(ctx context.Context) {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(e.ended, cause) {
		e.cause = cause
	}
}

// awaitCause waits until a context whose deadline has passed has ended: only then it has its cause,
// which becomes that of the endedError in err. Its timer should fire within microseconds. awaitCause
// stops after endGrace, because the context may be of a type that never ends at its deadline.
func awaitCause(ctx context.Context, err error) {
	ended, ok := errors.AsType[*endedError](err)
	if !ok || ended.cause != nil || deadline.Err(ctx) == nil {
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

// endGrace is the longest wait for a context whose deadline has passed: on a busy machine, timers
// fire up to some 10 ms late.
const endGrace = 100 * time.Millisecond
