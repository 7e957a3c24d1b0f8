package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

func TestWithMaxWait(t *testing.T) {
	const enough, less = time.Hour, 59 * time.Second
	for name, c := range map[string]struct {
		code                           int
		maxWait, deadline, callTimeout time.Duration
	}{
		"never wait":       {429, 0, enough, enough},
		"max wait":         {429, less, enough, enough},
		"deadline":         {429, enough, less, enough},
		"call timeout":     {429, enough, enough, less},
		"503 and max wait": {503, time.Minute, enough, enough}, // without the backoff, it would fit
	} {
		virtual(t, "fails a call immediately if its wait would be too long: "+name, func(t *testing.T) {
			client, service := scripted(t, []responder{status(c.code, "", "Retry-After: 60")},
				petstore.WithCallTimeout(c.callTimeout))
			ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
			defer cancel()
			start := time.Now()
			err := listFor(ctx, client, petstore.WithMaxWait(c.maxWait))
			assert.Zero(t, time.Since(start))
			assert.Len(t, service.sent(), 1)
			assert.Equal(t, c.code, as[*petstore.APIError](t, err).StatusCode)
			assert.Equal(t, c.code == 429, errors.Is(err, petstore.ErrRateLimited))
			assert.NotErrorIs(t, err, context.DeadlineExceeded)
			assert.NotErrorIs(t, err, petstore.ErrNotSent)
			after, _ := petstore.RetryAfter(err)
			assert.Equal(t, time.Minute, after)
		})
	}
	virtual(t, "limits the waits of a call together", func(t *testing.T) {
		client, service := scripted(t, []responder{status(429, ``, "Retry-After: 60")})
		require.ErrorIs(t, list(client), petstore.ErrRateLimited)
		assert.Len(t, service.sent(), 3, "two waits of 60 s fit into the default, a third does not")
	})
	virtual(t, "does not limit backoffs", func(t *testing.T) {
		busy, limited, done := status(503, ""), status(429, "", "Retry-After: 60"), status(200, "[]")
		client, _ := scripted(t, []responder{busy, done})
		require.NoError(t, list(client, petstore.WithMaxWait(0)))
		client, _ = scripted(t, []responder{busy, busy, limited, done},
			petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 10 * time.Second}))
		require.NoError(t, list(client, petstore.WithMaxWait(70*time.Second)))
	})
}

// endedWait is a wait of a call that WithStop or the context of the call ends after five seconds.
type endedWait struct {
	respond   responder
	option    petstore.Option // in place of the limiter; nil: the call has a limiter
	code      int             // of the response before the wait; 0 for none
	keyIsSlow bool            // the call waits for its key
	isKnown   bool            // the client knows for how long the call has to wait
}

// end makes a call that WithStop or its context ends.
func (w *endedWait) end(t *testing.T, isStop bool) {
	cause := errors.New("the user\nleft")
	ending, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(5*time.Second, func() { cancel(cause) })
	ctx, stop, open := ending, t.Context(), 0
	if isStop {
		ctx, stop = stop, ctx
	}
	opts := []petstore.Option{petstore.WithStop(stop), petstore.WithTrace(&petstore.ClientTrace{
		WaitStart: func(context.Context, petstore.Call, ratelimit.Wait) { open++ },
		WaitDone:  func(context.Context, petstore.Call, ratelimit.Wait) { open-- },
	}), petstore.WithLimiter(ratelimit.New())}
	if w.option != nil {
		opts = append(opts, petstore.WithLimiter(nil), w.option)
	}
	client, service := rotating(t, func(ctx context.Context) (string, error) {
		if w.keyIsSlow {
			<-ctx.Done()
		}
		return testKey, ctx.Err()
	}, []responder{w.respond}, opts...)
	call, start := listFor, time.Now()
	if w.code == http.StatusTooManyRequests { // only then is a create sent again, and waits before
		call = createFor
	}
	err := call(ctx, client)
	assert.Equal(t, 5*time.Second, time.Since(start).Truncate(time.Second))
	assert.Zero(t, open, "each wait has its end")
	require.ErrorIs(t, err, cause)
	assert.Equal(t, isStop, errors.Is(err, petstore.ErrStopped))
	assert.Equal(t, !isStop, errors.Is(err, context.Canceled))
	assert.Equal(t, w.code == 0, errors.Is(err, petstore.ErrNotSent), "%v", err)
	byLimiter := w.option == nil && !isStop
	assert.Equal(t, w.code == 429 || byLimiter, errors.Is(err, petstore.ErrRateLimited), "%v", err)
	_, known := petstore.RetryAfter(err)
	assert.Equal(t, w.isKnown || byLimiter, known)
	if byLimiter { // a caller that waits until RetryAt must not find the key still closed
		next := as[*petstore.RateLimitError](t, list(client, petstore.WithMaxWait(time.Second)))
		assert.Equal(t, next.RetryAt, as[*petstore.RateLimitError](t, err).RetryAt)
	}
	assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
	assert.NotContains(t, err.Error(), "\n")
	if w.code != 0 {
		assert.Equal(t, w.code, as[*petstore.APIError](t, err).StatusCode)
	}
	sent := len(service.sent())
	t.Cleanup(func() {
		time.Sleep(5 * time.Minute)
		assert.Len(t, service.sent(), sent, "nothing is sent after the end")
	})
}

func TestEndOfWaits(t *testing.T) {
	backoff := petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 20 * time.Second})
	waits := petstore.WithLimiter(limiterFunc(func(ctx context.Context, _ ratelimit.Request) (ratelimit.Permit, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	usedUp := []string{ // for 30 s after the start of a bubble
		"X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 946684830",
	}
	for name, wait := range map[string]endedWait{
		"Retry-After of a 429": {respond: status(429, "", "Retry-After: 60"), option: backoff, code: 429, isKnown: true},
		"Retry-After of a 503": {respond: status(503, "", "Retry-After: 60"), option: backoff, code: 503, isKnown: true},
		"backoff":              {respond: status(502, ""), option: backoff, code: 502},
		"backoff of a dial":    {respond: fails(errRefused), option: backoff},
		"the key is closed":    {respond: status(429, ""), code: 429, isKnown: true},
		"nothing is left":      {respond: status(503, "", usedUp...), code: 503},
		"limiter":              {option: waits},
		"key":                  {option: backoff, keyIsSlow: true},
	} {
		virtual(t, name+", by WithStop", func(t *testing.T) { wait.end(t, true) })
		virtual(t, name+", by its context", func(t *testing.T) { wait.end(t, false) })
	}
}

// WithStop ends a read in flight immediately, and lets a write finish.
func TestWithStopDuringARequest(t *testing.T) {
	for operation, sample := range samples {
		virtual(t, operation, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, stop)
			client, service := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
				select {
				case <-r.Context().Done():
					return nil, r.Context().Err()
				case <-time.After(5 * time.Second):
					return status(sample.success, onePet)(r) // a read has ended before
				}
			}}, petstore.WithStop(ctx))
			start, took := time.Now(), time.Second
			err := sample.call(client)
			if sample.writes {
				took = 5 * time.Second
			}
			assert.Equal(t, took, time.Since(start))
			assert.Equal(t, sample.writes, err == nil, "%v", err)
			assert.Equal(t, !sample.writes, errors.Is(err, petstore.ErrStopped), "%v", err)
			require.ErrorIs(t, sample.call(client), petstore.ErrNotSent)
			assert.Len(t, service.sent(), 1)
		})
	}
}

func TestWithAttemptTimeout(t *testing.T) {
	const none = -1
	for _, c := range []struct{ client, attempt, call, want time.Duration }{ // in seconds; 0 if it is not set
		{1, 0, 0, 1}, {1, 9, 0, 9}, {9, 1, 0, 1}, {1, 0, 9, 1}, {0, 2, 0, 2}, {0, 0, 3, 3}, {9, 9, 3, 3}, {1, none, 3, 3}, {-1, 0, 0, 30},
	} {
		name := fmt.Sprintf("of %d s for http.Client, %d s and %d s for the call", c.client, c.attempt, c.call)
		virtual(t, name+": an option of the call comes first", func(t *testing.T) {
			var opts []petstore.CallOption
			if c.attempt != 0 {
				opts = append(opts, petstore.WithAttemptTimeout(max(0, c.attempt)*time.Second))
			}
			dials := func(r *http.Request) (*http.Response, error) { // a dialer may fail before the context ends
				deadline, _ := r.Context().Deadline()
				time.Sleep(time.Until(deadline))
				return nil, os.ErrDeadlineExceeded
			}
			own := petstore.WithHTTPClient(&http.Client{Transport: responder(dials), Timeout: c.client * time.Second})
			client, start := newClient(t, nil, testKey, own, petstore.WithCallTimeout(c.call*time.Second)), time.Now()
			err := create(client, opts...)
			assert.Equal(t, c.want*time.Second, time.Since(start))
			assert.ErrorContains(t, err, fmt.Sprintf(" timed out after %ds", c.want))
			require.ErrorIs(t, err, petstore.ErrTimeout)
			require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
			assert.NotErrorIs(t, err, context.DeadlineExceeded, "which is for the caller's deadline")
			assert.True(t, as[net.Error](t, err).Timeout())
		})
	}
}
