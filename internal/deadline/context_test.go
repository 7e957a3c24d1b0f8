package deadline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// contextIn returns a context that begins now; ctx is its parent.
func contextIn(ctx context.Context, timeout time.Duration) *Context {
	var c Context
	c.Begin(ctx, ownKey{}, "own", time.Now(), timeout)
	return &c
}

func TestContext(t *testing.T) {
	// The result is that of package context before and after the end, whether Done or Err is called
	// first, and for derived contexts.
	t.Run("behaves like a context of package context", func(t *testing.T) {
		cause := errors.New("the caller went away")
		for name, c := range map[string]struct {
			timeout, parent time.Duration // 0 for none
			ends, cancels   bool
			lasts           time.Duration
			err, cause      error
		}{
			"nothing happens":           {timeout: time.Minute},
			"its end":                   {timeout: time.Minute, ends: true, err: context.Canceled},
			"its end without a timeout": {ends: true, err: context.Canceled},
			"its timeout":               {timeout: time.Second, lasts: time.Second, err: context.DeadlineExceeded},
			"the caller's deadline":     {timeout: time.Minute, parent: time.Second, lasts: time.Second, err: context.DeadlineExceeded},
			"the caller's cancel":       {timeout: time.Minute, cancels: true, err: context.Canceled, cause: cause},
		} {
			for _, looks := range []string{"before", "after", "never"} {
				t.Run(name+", looked at "+looks, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						parent, cancel := context.WithCancelCause(t.Context())
						defer cancel(nil)
						if c.parent > 0 {
							var stop context.CancelFunc
							parent, stop = context.WithTimeout(parent, c.parent)
							defer stop()
						}
						a := contextIn(parent, c.timeout)
						defer a.End()
						var child context.Context
						if looks == "before" {
							child = context.WithValue(a, markKey{}, true)
							assert.NotNil(t, child.Done())
							require.NoError(t, child.Err())
						}
						time.Sleep(c.lasts)
						if c.ends {
							a.End()
						}
						if c.cancels {
							cancel(cause)
						}
						synctest.Wait()
						if looks == "after" {
							var stop context.CancelFunc
							child, stop = context.WithCancel(a)
							defer stop()
						}
						for _, ctx := range []context.Context{child, a} {
							if ctx == nil {
								continue
							}
							require.ErrorIs(t, ctx.Err(), c.err)
							if looks != "never" && c.err != nil {
								<-ctx.Done()
								want := c.err
								if c.cause != nil {
									want = c.cause
								}
								assert.Equal(t, want, context.Cause(ctx))
							}
						}
					})
				})
			}
		}
	})
	t.Run("has the earlier deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			caller, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			for _, c := range []struct {
				parent  context.Context
				timeout time.Duration
				want    time.Duration
			}{
				{t.Context(), time.Minute, time.Minute},
				{caller, time.Minute, time.Second},
				{caller, time.Millisecond, time.Millisecond},
				{caller, 0, time.Second},
			} {
				deadline, ok := contextIn(c.parent, c.timeout).Deadline()
				assert.True(t, ok)
				assert.Equal(t, c.want, deadline.Sub(start))
			}
			_, ok := contextIn(t.Context(), 0).Deadline()
			assert.False(t, ok)
		})
	})
	t.Run("keeps its error", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ended, late := contextIn(t.Context(), time.Second), contextIn(t.Context(), time.Second)
			ended.End()
			time.Sleep(time.Second)
			require.ErrorIs(t, late.Err(), context.DeadlineExceeded)
			late.End()
			for range 2 {
				assert.Equal(t, context.Canceled, ended.Err())
				assert.Equal(t, context.DeadlineExceeded, late.Err())
				<-ended.Done()
				<-late.Done()
			}
		})
	})
	t.Run("has no timer before the first Done", func(t *testing.T) {
		t.Parallel()
		a := contextIn(t.Context(), time.Minute)
		defer a.End()
		require.NoError(t, a.Err())
		_, _ = a.Deadline()
		assert.Nil(t, a.Value(markKey{}))
		assert.Equal(t, "own", a.Value(ownKey{}))
		assert.Nil(t, a.armed)
		_ = a.Done()
		assert.NotNil(t, a.armed)
	})
}

type (
	markKey struct{}
	ownKey  struct{}
)

func TestSlice(t *testing.T) {
	assert.Equal(t, 24*time.Hour/64, Slice(24*time.Hour))
	assert.Equal(t, 10*time.Second, Slice(time.Minute))
	assert.Equal(t, time.Second, Slice(time.Second))
	synctest.Test(t, func(t *testing.T) {
		assert.Equal(t, 24*time.Hour, Slice(24*time.Hour), "in a bubble, timers follow the wall clock")
	})
}
