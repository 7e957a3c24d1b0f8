// Package deadline says whether and why a context has ended.
package deadline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/petstore/petstore-go/internal/safetext"
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

// EndOf returns an error if ctx has ended, else nil. It matches that of the context, and the cause.
// The cause may be the error of another call, and says nothing about the requests of this one: it
// does not match the errors of except.
func EndOf(ctx context.Context, except ...error) error {
	err := Err(ctx)
	if err == nil {
		return nil
	}
	select { // only when ctx has ended it has its cause
	case <-ctx.Done():
	case <-time.After(endGrace):
	}
	cause := context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, safetext.Hide(cause, except...))
}

// endGrace is the longest wait for a context whose deadline has passed: on a busy machine, timers
// fire up to some 10 ms late, and a context of another type may never end at its deadline.
const endGrace = 100 * time.Millisecond
