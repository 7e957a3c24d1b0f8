// Package deadline tells how and why a context ended, and has one with a deadline that costs little
// until somebody waits for it.
package deadline

import (
	"context"
	"sync"
	"time"
)

// Context is the context of one attempt: that of its call, with an earlier deadline and one value
// of its own. Its timer starts with the first call of Done: not every transport calls it, and a
// timer costs more than the rest of the context.
type Context struct {
	parent     context.Context
	key, value any
	deadline   time.Time // zero for that of parent

	mu     sync.Mutex
	armed  context.Context // nil before the first Done
	cancel context.CancelFunc
	over   bool // End was called
}

// Begin begins c, with the value for key. The deadline is now + timeout, or that of parent if that
// is earlier or timeout is 0. It must be called before all other methods.
func (c *Context) Begin(parent context.Context, key, value any, now time.Time, timeout time.Duration) {
	c.parent, c.key, c.value = parent, key, value
	if timeout > 0 {
		c.deadline = now.Add(timeout)
	}
}

// Deadline implements [context.Context].
func (c *Context) Deadline() (time.Time, bool) {
	deadline, ok := c.parent.Deadline()
	if c.deadline.IsZero() || ok && deadline.Before(c.deadline) {
		return deadline, ok
	}
	return c.deadline, true
}

// Done implements [context.Context].
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.arm().Done()
}

// Err implements [context.Context].
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.armed == nil && !c.over && c.parent.Err() == nil &&
		(c.deadline.IsZero() || time.Now().Before(c.deadline)) {
		return nil
	}
	return c.arm().Err() // a context returns the same error from now on
}

// arm returns the context that c stands for, and makes it first if there is none. c.mu must be
// held.
func (c *Context) arm() context.Context {
	switch {
	case c.armed != nil:
	case c.deadline.IsZero() || c.over:
		c.armed, c.cancel = context.WithCancel(c.parent)
	default:
		c.armed, c.cancel = context.WithDeadline(c.parent, c.deadline)
	}
	if c.over {
		c.cancel()
	}
	return c.armed
}

// Value implements [context.Context]. It passes other keys to armed, because package context finds
// its own contexts through Value; a context derived from c then needs no goroutine to follow c's
// end.
func (c *Context) Value(key any) any {
	if key == c.key {
		return c.value // without the lock: this key is the most frequent
	}
	c.mu.Lock()
	armed := c.armed
	c.mu.Unlock()
	if armed != nil {
		return armed.Value(key)
	}
	return c.parent.Value(key)
}

// End ends the context and stops its timer.
func (c *Context) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.cancel != nil {
		c.cancel()
	}
}

// Slice returns how long to wait for d before the next look at the wall clock: while a machine is
// suspended, timers stop. 10 seconds, because after a suspension a call may be that late without
// harm; d/64 for long waits, because each look wakes up the process: 375 times in 24 hours. Where
// timers follow the wall clock there is nothing to look for.
func Slice(d time.Duration) time.Duration {
	const look = 10 * time.Second
	if d <= look || oneClock() {
		return d
	}
	return max(look, d/64)
}

// oneClock reports whether there is no clock beside the wall clock: in a testing/synctest bubble,
// time.Now returns no monotonic time.
func oneClock() bool {
	now := time.Now()
	return now == now.Round(0) //nolint:revive // it compares the readings, not the times
}
