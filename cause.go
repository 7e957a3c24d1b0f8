package petstore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// begin calls the CallStart functions and makes the contexts of the call, which end frees:
//
//	k.ctx         ends with that of the caller, or after WithCallTimeout; for writes and traces
//	k.stoppable   ends with k.ctx, or at WithStop; for waits and reads
//
// The context of a request or of a function for the key is made from one of them. It ends after the
// timeout of an attempt, too.
func (k *call) begin() (end func()) {
	k.callStart()
	endTimeout := func() {}
	if limit := k.config.callTimeout; limit > 0 {
		k.ctx, endTimeout = context.WithTimeoutCause(k.ctx, limit, &endError{&timeoutError{"call", limit}, k.info.ID})
	}
	k.stoppable = k.ctx
	stop := k.config.stop
	if stop == nil {
		return endTimeout
	}
	var cancel context.CancelCauseFunc
	k.stoppable, cancel = context.WithCancelCause(k.ctx)
	stopped := func() { cancel(&endError{fmt.Errorf("%w: %w", ErrStopped, foreign(context.Cause(stop))), k.info.ID}) }
	if stop.Err() != nil {
		stopped() // AfterFunc would take a moment
	}
	forget := context.AfterFunc(stop, stopped)
	return func() { forget(); cancel(nil); endTimeout() }
}

// endReason returns why a context of the call has ended; nil if it has not. A timeout of another
// call around this one is a cause like others.
func (k *call) endReason(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	own, ok := cause.(*endError)
	switch {
	case ok && own.callID == k.info.ID:
		return own.error
	case err == nil || errors.Is(err, cause):
		return err
	case isOfCall(cause):
		return fmt.Errorf("%w: %v", err, cause)
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// endError is the cause of a context of a call that a timeout or WithStop has ended. endReason
// takes the error out of it for the call itself. It has no Unwrap, so that it matches nothing in
// the error of another call.
type endError struct {
	error
	callID string
}

// foreign returns an error of a function, a transport or a limiter of the user, as an error of the
// call may wrap it. If it is about another call, or about a context that is not that of the call,
// only its text is kept.
func foreign(err error) error {
	if err != nil && (isOfCall(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return errors.New(err.Error())
	}
	return err
}

// isOfCall reports whether err is one of the five errors of a call. If such an error is the cause
// of a context, it is about another call: an errgroup, for instance, cancels the other calls with
// the error of the first one that failed.
func isOfCall(err error) bool {
	_, ok := errors.AsType[callError](err)
	return ok
}

// timeoutError is the [net.Error] of an attempt or a call that took longer than an option allows.
type timeoutError struct {
	what  string // attempt or call
	limit time.Duration
}

func (e *timeoutError) Error() string        { return e.what + " timed out after " + e.limit.String() }
func (e *timeoutError) Is(target error) bool { return target == ErrTimeout }
func (e *timeoutError) Timeout() bool        { return true }
func (e *timeoutError) Temporary() bool      { return true }
