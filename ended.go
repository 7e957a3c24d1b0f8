package petstore

import (
	"context"
	"errors"
	"time"

	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/errtext"
)

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

func (e *causeError) Error() string      { return e.cause.Error() }
func (e *causeError) As(target any) bool { return errors.As(e.cause, target) }
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
