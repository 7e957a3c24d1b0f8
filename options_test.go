package petstore_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestOptions(t *testing.T) {
	client, service := scripted(t, []responder{status(503, "")}, petstore.WithLimiter(refuses), petstore.Options( // which cannot be compared
		petstore.WithLimiter(nil), petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}), petstore.Options(), petstore.WithHeader("X-A", "1")))
	require.Error(t, list(client))
	assert.Len(t, service.sent(), 1)
	assert.Equal(t, "1", service.sent()[0].header.Get("X-A"))
}

func TestWithMaxWait(t *testing.T) {
	limited, busy := status(429, ``, "Retry-After: 60"), status(503, ``, "Retry-After: 60")
	for name, c := range map[string]struct {
		respond           responder
		maxWait, deadline time.Duration
		limited           bool
	}{
		"max wait":         {limited, 59 * time.Second, time.Hour, true},
		"never wait":       {limited, 0, time.Hour, true},
		"deadline":         {limited, time.Hour, 59 * time.Second, true},
		"503 and max wait": {busy, 59 * time.Second, time.Hour, false},
	} {
		virtual(t, "fails a call immediately if its wait would be too long: "+name, func(t *testing.T) {
			client, service := scripted(t, []responder{c.respond})
			ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
			defer cancel()
			start := time.Now()
			_, err := client.ListPets(ctx, petstore.ListPetsParams{}, petstore.WithMaxWait(c.maxWait))
			assert.Zero(t, time.Since(start), "virtual time passed")
			assert.Len(t, service.sent(), 1)
			as[*petstore.APIError](t, err)
			assert.NotErrorIs(t, err, context.DeadlineExceeded)
			assert.NotErrorIs(t, err, petstore.ErrNotSent)
			assert.Equal(t, c.limited, errors.Is(err, petstore.ErrRateLimited))
			after, _ := petstore.RetryAfter(err)
			assert.Equal(t, time.Minute, after)
		})
	}
	virtual(t, "limits the waits of a call together", func(t *testing.T) {
		client, service := scripted(t, []responder{status(429, ``, "Retry-After: 50")})
		require.ErrorIs(t, list(client), petstore.ErrRateLimited) // 2 minutes by default
		assert.Len(t, service.sent(), 3, "two waits of 50 s fit, a third does not")
	})
}

func TestCancel(t *testing.T) {
	virtual(t, "during a wait matches the context, its cause and ErrRateLimited", func(t *testing.T) {
		cause := errors.New("the user\nleft")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(5*time.Second, func() { cancel(cause) })
		client, service := scripted(t, []responder{status(429, `{"code":"slow","message":"m","status":429}`, "Retry-After: 60")})
		start := time.Now()
		_, err := client.CreatePet(ctx, newPet())
		assert.Equal(t, 5*time.Second, time.Since(start))
		for _, want := range []error{context.Canceled, cause, petstore.ErrRateLimited} {
			assert.ErrorIs(t, err, want)
		}
		assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown, "a 429 was not carried out")
		as[*petstore.APIError](t, err)
		assert.NotContains(t, err.Error(), "\n")
		time.Sleep(5 * time.Minute)
		assert.Len(t, service.sent(), 1, "nothing is sent after a cancel")
	})
	virtual(t, "during a backoff matches the context and the last response", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		client, service := scripted(t, []responder{status(502, ``)})
		_, err := client.ListPets(ctx, petstore.ListPetsParams{})
		require.ErrorIs(t, err, context.Canceled)
		assert.NotErrorIs(t, err, petstore.ErrRateLimited)
		assert.Equal(t, 502, as[*petstore.APIError](t, err).StatusCode)
		assert.Equal(t, 1, as[*petstore.TransportError](t, err).Attempts)
		assert.Len(t, service.sent(), 1)
	})
	// A caller that goes by RetryAt must not come back into a closed window.
	virtual(t, "during a wait after a 429 returns when the limiter opens", func(t *testing.T) {
		server := fake.NewTestServer(t)
		server.Inject(fake.Fault{Status: http.StatusTooManyRequests, Header: http.Header{
			"X-RateLimit-Limit": nil, "X-RateLimit-Remaining": nil, "X-RateLimit-Reset": nil,
		}})
		client := server.Client()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		_, err := client.ListPets(ctx, petstore.ListPetsParams{})
		assert.ErrorIs(t, err, context.Canceled)
		limited := as[*petstore.RateLimitError](t, err)
		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{}, petstore.WithMaxWait(time.Second))
		next := as[*petstore.RateLimitError](t, err)
		assert.Equal(t, next.RetryAt, limited.RetryAt)
		assert.Equal(t, next.Scope, limited.Scope)
		as[*petstore.APIError](t, limited)
	})
	virtual(t, "during a wait for the limit matches ErrRateLimited after any response", func(t *testing.T) {
		server := fake.NewTestServer(t)
		reset := strconv.FormatInt(time.Now().Add(30*time.Second).Unix(), 10)
		server.Inject(fake.Fault{Status: http.StatusServiceUnavailable, Header: http.Header{
			"X-RateLimit-Remaining": {"0"}, "X-RateLimit-Reset": {reset},
		}})
		ctx, cancel := context.WithCancelCause(t.Context())
		bored := errors.New("bored")
		time.AfterFunc(5*time.Second, func() { cancel(bored) })
		_, err := server.Client().ListPets(ctx, petstore.ListPetsParams{})
		assert.ErrorIs(t, err, petstore.ErrRateLimited)
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorIs(t, err, bored)
		limited := as[*petstore.RateLimitError](t, err)
		assert.GreaterOrEqual(t, time.Until(limited.RetryAt), 25*time.Second)
		assert.NotErrorIs(t, err, petstore.ErrNotSent)
	})
}

func TestWithAttemptTimeout(t *testing.T) {
	for name, c := range map[string]struct{ ofClient, ofAttempt time.Duration }{
		"limits attempts, not waits":                {0, 2 * time.Second},
		"and so does the Timeout of WithHTTPClient": {2 * time.Second, time.Hour},
	} {
		virtual(t, name, func(t *testing.T) {
			s := &service{responders: []responder{hangs, status(429, ``, "Retry-After: 60"), status(200, twoPets)}}
			hc := &http.Client{Transport: s, Timeout: c.ofClient}
			client := newClient(t, nil, testKey, petstore.WithHTTPClient(hc), petstore.WithAttemptTimeout(c.ofAttempt))
			require.NoError(t, list(client))
			require.Len(t, s.sent(), 3)
			assert.Less(t, s.sent()[1].at.Sub(s.sent()[0].at), 3*time.Second)
			assert.Equal(t, &http.Client{Transport: s, Timeout: c.ofClient}, hc, "it is the caller's")
		})
	}
}

func TestWithCallTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		client, service := scripted(t, []responder{status(503, ""), status(503, ""), hangs}, petstore.WithCallTimeout(5*time.Second))
		require.ErrorIs(t, get(client), context.DeadlineExceeded)
		assert.Equal(t, 5*time.Second, time.Since(start))
		assert.Len(t, service.sent(), 3)

		start = time.Now()
		client, service = scripted(t, []responder{status(429, ``, "Retry-After: 60")})
		_, err := client.CreatePet(t.Context(), newPet(), petstore.WithCallTimeout(5*time.Second))
		limited := as[*petstore.RateLimitError](t, err)
		assert.Equal(t, time.Minute, limited.RetryAt.Sub(start))
		assert.Zero(t, time.Since(start))
		assert.Len(t, service.sent(), 1)
	})
}

func TestWithHTTPClientUnwrap(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	client := newClient(t, wrapped{new(http.Transport), cancel}, testKey)
	_, err := client.CreatePet(ctx, newPet())
	require.ErrorIs(t, err, context.Canceled)
	assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown, "the transport did not ask for a connection")
}

// wrapped calls before, and then sends the request.
type wrapped struct {
	http.RoundTripper
	before func()
}

func (w wrapped) Unwrap() http.RoundTripper { return w.RoundTripper }

func (w wrapped) RoundTrip(req *http.Request) (*http.Response, error) {
	w.before()
	return w.RoundTripper.RoundTrip(req)
}
