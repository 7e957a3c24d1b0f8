package deadline

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEndOf(t *testing.T) {
	cause, secret := errors.New("shutting\ndown"), errors.New("of another call")
	isSecret := func(err error) bool { return err == secret } //nolint:errorlint // the error itself
	require.NoError(t, EndOf(t.Context(), nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.EqualError(t, EndOf(ctx, nil), "context canceled")
	ctx, end := context.WithCancelCause(t.Context())
	end(errors.Join(cause, secret))
	err := EndOf(ctx, isSecret)
	for _, want := range []error{context.Canceled, cause} {
		require.ErrorIs(t, err, want)
	}
	require.NotErrorIs(t, err, secret)
	assert.NotContains(t, err.Error(), "\n")

	ended, ok := errors.AsType[*EndedError](err)
	require.True(t, ok)
	with := ended.With(io.ErrUnexpectedEOF)
	require.ErrorIs(t, with, io.ErrUnexpectedEOF)
	require.ErrorIs(t, with, cause)
	assert.Contains(t, with.Error(), "; last attempt: unexpected EOF")
	require.NotErrorIs(t, err, io.ErrUnexpectedEOF, "it is a copy")
	assert.Equal(t, io.EOF, (*EndedError)(nil).With(io.EOF))
	_, ok = errors.AsType[*TimeoutError](EndOf(causedBy(&TimeoutError{time.Second}), nil))
	assert.True(t, ok, "its cause can be found by its type")
}

func causedBy(cause error) context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	end(cause)
	return ctx
}

// slow ends some time after its deadline, as a context does whose timer fires late.
type slow struct {
	context.Context
	deadline time.Time
}

func (c slow) Deadline() (time.Time, bool) { return c.deadline, true }

func TestAwaitCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause, start := errors.New("closing time"), time.Now()
		inner, cancel := context.WithTimeoutCause(t.Context(), 5*time.Millisecond, cause)
		defer cancel()
		late, never := slow{inner, start}, slow{t.Context(), start}
		err := EndOf(late, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, cause)
		AwaitCause(late, err)
		require.ErrorIs(t, err, cause)
		assert.Equal(t, 5*time.Millisecond, time.Since(start))

		waited := time.Now()
		AwaitCause(never, EndOf(never, nil))
		assert.Equal(t, endGrace, time.Since(waited), "it stops waiting")
		waited = time.Now()
		AwaitCause(t.Context(), EndOf(never, nil))
		AwaitCause(never, io.EOF)
		assert.Equal(t, waited, time.Now(), "it waits for an *EndedError, and for a context that has ended")
	})
}

func TestTimeoutError(t *testing.T) {
	err := &TimeoutError{3 * time.Second}
	require.EqualError(t, err, "attempt timed out after 3s")
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	assert.True(t, err.Timeout())
}
