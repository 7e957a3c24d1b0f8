// Package deadline says whether and why a context has ended.
package deadline

import (
	"context"
	"errors"
	"time"

	"github.com/petstore/petstore-go/internal/errtext"
)

// Err returns ctx.Err(), or context.DeadlineExceeded once the deadline has passed: a
// connection may report the deadline a moment before the context's own timer fires.
func Err(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// EndedError reports that a context ended. It matches its error, and its cause.
type EndedError struct {
	ended  error   // context.Canceled or context.DeadlineExceeded
	cause  error   // context.Cause, if it is a different error
	while  string  // what happened meanwhile, for the text
	last   error   // error of the last attempt, if there was one
	except []error // what the cause must not match
}

// EndOf returns an *EndedError if ctx has ended, else nil. The cause may be the error of another
// call, and says nothing about the requests of this one: it does not match the errors of
// except.
func EndOf(ctx context.Context, except ...error) error {
	err := Err(ctx)
	if err == nil {
		return nil
	}
	await(ctx)
	ended := &EndedError{ended: err, except: except}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		ended.cause = cause
	}
	return ended
}

// await waits until a context whose deadline has passed has ended: only then it has its cause. Its
// timer should fire within microseconds. await stops after endGrace, because the context may be of
// a type that never ends at its deadline.
func await(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	timer := time.NewTimer(endGrace)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// endGrace is the longest wait for a context whose deadline has passed: on a busy machine, timers
// fire up to some 10 ms late.
const endGrace = 100 * time.Millisecond

func (e *EndedError) Error() string {
	text := e.ended.Error()
	if e.while != "" {
		text = e.while + ": " + text
	}
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

// While returns e with a text about what happened meanwhile.
func (e *EndedError) While(text string) *EndedError {
	with := *e
	with.while = text
	return &with
}

// Unwrap returns the error of the context, its cause and the error of the last attempt.
func (e *EndedError) Unwrap() []error {
	errs := []error{e.ended}
	if e.cause != nil {
		errs = append(errs, errtext.Hide(e.cause, e.except...))
	}
	if e.last != nil {
		errs = append(errs, e.last)
	}
	return errs
}
