package petstore

import (
	"context"
	"sync"
	"time"
)

// attemptContext is the context of one attempt: that of its call, with an earlier deadline. Its
// timer starts with the first call of Done: not every transport calls it, and a timer costs more
// than the rest of the context.
type attemptContext struct {
	call     *call
	attempt  *attempt  // for CallFromContext
	deadline time.Time // zero for that of the call

	mu     sync.Mutex
	armed  context.Context // nil before the first Done
	cancel context.CancelFunc
	over   bool // end was called
}

// begin sets the deadline from the options of the call.
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
	return a.arm().Err() // a context returns the same error from now on
}

// arm returns the context that a stands for, and makes it first if there is none. a.mu must be
// held.
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

// Value implements [context.Context]. It passes other keys to armed, because package context finds
// its own contexts through Value; a context derived from a then needs no goroutine to follow a's
// end.
func (a *attemptContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return a.attempt // without the lock: this key is the most frequent
	}
	a.mu.Lock()
	armed := a.armed
	a.mu.Unlock()
	if armed != nil {
		return armed.Value(key)
	}
	return a.call.ctx.Value(key)
}

// end ends the context and stops its timer.
func (a *attemptContext) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if a.cancel != nil {
		a.cancel()
	}
}
