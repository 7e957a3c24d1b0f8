package petstore_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/cookiejar"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestOptions(t *testing.T) {
	client, service := scripted(t, []responder{status(503, "")}, petstore.Options(
		petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}), petstore.Options(), petstore.WithHeader("X-A", "1")))
	require.Error(t, list(client))
	assert.Len(t, service.sent(), 1)
	assert.Equal(t, "1", service.sent()[0].header.Get("X-A"))

	_, err := petstore.NewClient("https://service.test/v1", testKey, petstore.Options(nil))
	require.ErrorIs(t, err, petstore.ErrInvalidArgument)
	_, err = petstore.NewClient("https://service.test/v1", testKey, petstore.Options(petstore.WithMaxWait(-1)))
	require.ErrorIs(t, err, petstore.ErrInvalidArgument)
	_, err = petstore.NewClient("https://service.test/v1", testKey, petstore.WithLimiter(refuses))
	require.NoError(t, err)
}

func TestWithMaxWait(t *testing.T) {
	t.Run("fails a call immediately if its wait would be too long", func(t *testing.T) {
		limited := func() []responder { return []responder{status(429, ``, "Retry-After: 60")} }
		for name, c := range map[string]struct {
			responders []responder
			options    []petstore.CallOption
			timeout    time.Duration
			limited    bool
		}{
			"max wait":         {limited(), []petstore.CallOption{petstore.WithMaxWait(59 * time.Second)}, time.Hour, true},
			"never wait":       {limited(), []petstore.CallOption{petstore.WithMaxWait(0)}, time.Hour, true},
			"deadline":         {limited(), nil, 59 * time.Second, true},
			"503 and max wait": {[]responder{status(503, ``, "Retry-After: 600")}, nil, time.Hour, false},
		} {
			virtual(t, name, func(t *testing.T) {
				client, service := scripted(t, c.responders)
				ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
				defer cancel()
				start := time.Now()
				_, err := client.ListPets(ctx, petstore.ListPetsParams{}, c.options...)
				assert.Zero(t, time.Since(start), "virtual time passed")
				assert.Len(t, service.sent(), 1)
				_, isAPI := errors.AsType[*petstore.APIError](err)
				assert.True(t, isAPI, "%T", err)
				e, isLimited := errors.AsType[*petstore.RateLimitError](err)
				require.Equal(t, c.limited, isLimited)
				assert.NotErrorIs(t, err, context.DeadlineExceeded)
				if c.limited {
					assert.Equal(t, start.Add(time.Minute), e.RetryAt)
					assert.NotErrorIs(t, err, petstore.ErrNotSent)
				}
			})
		}
	})
	virtual(t, "limits the waits of a call together", func(t *testing.T) {
		client, service := scripted(t, []responder{status(429, ``, "Retry-After: 50")})
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{}) // 2 minutes by default
		require.ErrorIs(t, err, petstore.ErrRateLimited)
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
	virtual(t, "is not the caller's deadline", func(t *testing.T) {
		client, _ := scripted(t, []responder{hangs, hangs, success("listPets")}, petstore.WithAttemptTimeout(3*time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		result, err := client.ListPets(ctx, petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Equal(t, 3, result.Attempts)

		client, service := scripted(t, []responder{hangs}, petstore.WithAttemptTimeout(3*time.Second))
		_, err = client.CreatePet(ctx, newPet())
		assert.Len(t, service.sent(), 1)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
		timeout, ok := errors.AsType[net.Error](err)
		assert.True(t, ok && timeout.Timeout() || strings.Contains(err.Error(), "timed out after 3s"), "%v", err)
	})
	virtual(t, "does not limit a wait", func(t *testing.T) {
		client, _ := scripted(t, []responder{status(429, ``, "Retry-After: 60"), success("createPet")}, petstore.WithAttemptTimeout(time.Second))
		result, err := client.CreatePet(t.Context(), newPet())
		require.NoError(t, err)
		assert.Equal(t, 2, result.Attempts)
	})
}

func TestWithAttemptTimeoutDrippingBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fake.NewTestServer(t)
		srv.Inject(fake.Fault{Wire: fake.WireDrip, Times: fake.Forever, Body: bytes.Repeat([]byte(" "), 1000)}) // for 100 seconds
		client := srv.Client(petstore.WithLimiter(nil), petstore.WithAttemptTimeout(2*time.Second))
		start := time.Now()
		require.ErrorIs(t, create(client), petstore.ErrOutcomeUnknown)
		assert.Equal(t, 2*time.Second, time.Since(start), "a create has one attempt")

		start = time.Now()
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{}, petstore.WithCallTimeout(3*time.Second))
		require.Error(t, err)
		assert.Equal(t, 3*time.Second, time.Since(start), "the call's timeout ends the second attempt of a list")
	})
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

func TestWithHTTPClientCookies(t *testing.T) {
	service := &service{responders: []responder{status(200, `[]`, "Set-Cookie: route=b7")}}
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client, err := petstore.NewClient("https://service.test/v1", testKey, petstore.WithHTTPClient(&http.Client{Jar: jar, Transport: service}))
	require.NoError(t, err)
	require.NoError(t, list(client))
	require.NoError(t, list(client))
	assert.Equal(t, "route=b7", service.sent()[1].header.Get("Cookie"))
}

func TestWithHTTPClientIncompleteResponse(t *testing.T) {
	client, service := scripted(t, []responder{
		func(*http.Request) (*http.Response, error) { return nil, nil },
		func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusNotFound}, nil
		},
	})
	require.ErrorContains(t, list(client), "the transport returned neither a response nor an error")
	require.ErrorContains(t, list(client), "404 Not Found")
	assert.Len(t, service.sent(), 2, "a retry would fail in the same way")
}

func TestWithHTTPClientUnwrap(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	client, err := petstore.NewClient("https://service.test/v1", testKey,
		petstore.WithHTTPClient(&http.Client{Transport: wrapped{new(http.Transport), cancel}}))
	require.NoError(t, err)
	_, err = client.CreatePet(ctx, petstore.NewPet{Name: "Rex"})
	require.ErrorIs(t, err, context.Canceled)
	assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown, "the transport did not ask for a connection")
}

func TestWithHTTPClientTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &service{responders: []responder{hangs, status(429, ``, "Retry-After: 60"), success("listPets")}}
		client, err := petstore.NewClient("https://service.test/v1", testKey, petstore.WithLimiter(nil),
			petstore.WithHTTPClient(&http.Client{Transport: service, Timeout: 2 * time.Second}))
		require.NoError(t, err)
		result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Equal(t, 3, result.Attempts)
		gap := service.sent()[1].at.Sub(service.sent()[0].at)
		assert.Less(t, gap, 3*time.Second)
	})
}

func TestWithHTTPClient(t *testing.T) {
	hc := &http.Client{Transport: &service{responders: []responder{status(200, `[]`)}}, Timeout: time.Second}
	before := *hc
	client, err := petstore.NewClient("https://service.test/v1", testKey, petstore.WithHTTPClient(hc))
	require.NoError(t, err)
	require.NoError(t, list(client))
	assert.Equal(t, before.Transport, hc.Transport)
	assert.Nil(t, hc.CheckRedirect)
	assert.Equal(t, time.Second, hc.Timeout)
}
