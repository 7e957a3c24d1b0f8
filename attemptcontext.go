package petstore

import (
	"context"
	"sync"
	"time"
)

// attemptContext is the context of one attempt: that of its call, with a deadline of its own. The timer for that
// is set when somebody first waits for Done, which not every transport does.
type attemptContext struct {
	call     *call
	attempt  *attempt  // what CallFromContext finds
	deadline time.Time // zero: the call's

	mu     sync.Mutex
	armed  context.Context // nil before the first Done
	cancel context.CancelFunc
	over   bool
}

// begin sets the deadline, as the options of the call say.
func (a *attemptContext) begin(now time.Time) {
	if timeout := a.call.config.attemptTimeout; timeout > 0 {
		a.deadline = now.Add(timeout)
	}
}

// Deadline implements [context.Context].
func (a *attemptContext) Deadline() (time.Time, bool) {
	deadline, ok := a.call.ctx.Deadline()
	if a.deadline.IsZero() || ok && deadline.Before(a.deadline) {
		return deadline, ok
	}
	return a.deadline, true
}

// Done implements [context.Context].
func (a *attemptContext) Done() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.arm().Done()
}

// Err implements [context.Context].
func (a *attemptContext) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.armed == nil && !a.over && a.call.ctx.Err() == nil &&
		(a.deadline.IsZero() || time.Now().Before(a.deadline)) {
		return nil
	}
	return a.arm().Err() // which stays what it is
}

func (a *attemptContext) arm() context.Context {
	switch {
	case a.armed != nil:
	case a.deadline.IsZero() || a.over:
		a.armed, a.cancel = context.WithCancel(&a.call.ctx)
	default:
		a.armed, a.cancel = context.WithDeadline(&a.call.ctx, a.deadline)
	}
	if a.over {
		a.cancel()
	}
	return a.armed
}

// Value implements [context.Context]. Package context asks for what it has put there itself, in order to join
// two contexts without a goroutine between them: that is armed's.
func (a *attemptContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return a.attempt // which is asked for most often
	}
	a.mu.Lock()
	armed := a.armed
	a.mu.Unlock()
	if armed != nil {
		return armed.Value(key)
	}
	return a.call.ctx.Value(key)
}

// end releases what the attempt holds, and whoever still waits for it.
func (a *attemptContext) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if a.cancel != nil {
		a.cancel()
	}
}
