package deadline

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEndOf(t *testing.T) {
	cause, secret := errors.New("shutting down"), errors.New("of another call")
	require.NoError(t, EndOf(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.EqualError(t, EndOf(ctx), "context canceled")
	ctx, end := context.WithCancelCause(t.Context())
	end(errors.Join(cause, secret))
	err := EndOf(ctx, secret)
	for _, want := range []error{context.Canceled, cause} {
		require.ErrorIs(t, err, want)
	}
	require.NotErrorIs(t, err, secret)
	assert.ErrorContains(t, err, "context canceled: shutting down")
	_, ok := errors.AsType[*net.OpError](EndOf(causedBy(&net.OpError{Op: "dial", Err: io.EOF})))
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

func TestEndOfWaitsForTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause, start := errors.New("closing time"), time.Now()
		inner, cancel := context.WithTimeoutCause(t.Context(), 5*time.Millisecond, cause)
		defer cancel()
		late, never := slow{inner, start}, slow{t.Context(), start}
		err := EndOf(late)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, cause)
		assert.Equal(t, 5*time.Millisecond, time.Since(start))

		waited := time.Now()
		require.ErrorIs(t, EndOf(never), context.DeadlineExceeded)
		assert.Equal(t, 100*time.Millisecond, time.Since(waited), "it stops waiting")
	})
}
