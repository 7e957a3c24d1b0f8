package deadline

import (
	"context"
	"errors"
	"time"

	"github.com/petstore/petstore-go/internal/errtext"
	"github.com/petstore/petstore-go/internal/quota"
)

// Err returns ctx.Err(), or context.DeadlineExceeded once the deadline has passed: a
// connection may report the deadline a moment before the context's own timer fires.
func Err(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && quota.Passed(time.Now(), deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// EndedError reports that a context ended. It matches its error, and its cause.
type EndedError struct {
	ended  error            // context.Canceled or context.DeadlineExceeded
	cause  error            // context.Cause, if it is a different error
	last   error            // error of the last attempt, if there was one
	except func(error) bool // reports what the cause must not match
}

// EndOf returns an *EndedError if ctx has ended, else nil. The cause may be the error of another
// call, and says nothing about the requests of this one: it does not match the errors that except
// is true for.
func EndOf(ctx context.Context, except func(error) bool) error {
	err := Err(ctx)
	if err == nil {
		return nil
	}
	ended := &EndedError{ended: err, except: except}
	ended.learnCause(ctx)
	return ended
}

// learnCause adds the cause of ctx, if it has one.
func (e *EndedError) learnCause(ctx context.Context) {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(e.ended, cause) {
		e.cause = cause
	}
}

func (e *EndedError) Error() string {
	text := e.ended.Error()
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	if e.last != nil {
		text += "; last attempt: " + e.last.Error()
	}
	return errtext.Line(text)
}

// With returns e with the error of the last attempt; that error alone if e is nil.
func (e *EndedError) With(last error) error {
	if e == nil {
		return last
	}
	with := *e
	with.last = last
	return &with
}

// Unwrap returns the error of the context, its cause and the error of the last attempt.
func (e *EndedError) Unwrap() []error {
	errs := []error{e.ended}
	if e.cause != nil {
		errs = append(errs, &causeError{e.cause, e.except})
	}
	if e.last != nil {
		errs = append(errs, e.last)
	}
	return errs
}

// causeError is the cause of a context: it matches what the cause matches, with exceptions.
type causeError struct {
	cause  error
	except func(error) bool
}

func (e *causeError) Error() string { return e.cause.Error() }
func (e *causeError) As(target any) bool {
	return errors.As(e.cause, target) //nolint:forbidigo // it passes the caller's variable on
}

func (e *causeError) Is(target error) bool {
	return !(e.except != nil && e.except(target)) && errors.Is(e.cause, target)
}

// AwaitCause waits until a context whose deadline has passed has ended: only then it has its cause,
// which becomes that of the *EndedError in err. Its timer should fire within microseconds. AwaitCause
// stops after endGrace, because the context may be of a type that never ends at its deadline.
func AwaitCause(ctx context.Context, err error) {
	ended, ok := errors.AsType[*EndedError](err)
	if !ok || ended.cause != nil || Err(ctx) == nil {
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

// TimeoutError reports that an attempt exceeded its timeout After. It does not match
// context.DeadlineExceeded, which is for the caller's context.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string { return "attempt timed out after " + e.After.String() }

// Timeout returns true, as a net.Error does for a timeout.
func (e *TimeoutError) Timeout() bool { return true }
