package petstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/ratelimit"
)

// tenants returns the client of each tenant.
func tenants(t *testing.T, n int, opts ...petstore.Option) (all []*petstore.Client) {
	t.Helper()
	family, err := petstore.NewClient("https://service.test/v1", testKey, opts...)
	require.NoError(t, err)
	for n := range n {
		client, err := family.ForKey(key(n))
		require.NoError(t, err)
		all = append(all, client)
	}
	return all
}

func key(n int) string { return fmt.Sprintf("key-of-tenant-%d", n) }

// tenantOf returns the number of the tenant whose key a request has.
func tenantOf(r *http.Request) (n int) {
	_, _ = fmt.Sscanf(r.Header.Get("Authorization"), "Bearer key-of-tenant-%d", &n)
	return n
}

func TestTenantsNeverMeet(t *testing.T) {
	virtual(t, "rate limits", func(t *testing.T) {
		service := responder(func(r *http.Request) (*http.Response, error) {
			return status(200, "[]", quota(1000, 500+tenantOf(r), time.Minute)...)(r)
		})
		all := tenants(t, 50, petstore.WithHTTPClient(&http.Client{Transport: service}))
		for range 2 {
			for n, client := range all {
				require.NoError(t, list(client))
				assert.Equal(t, 500+n, client.RateLimit().Remaining)
			}
		}
	})
	virtual(t, "lockouts in the log and ReopenLimit", func(t *testing.T) {
		var log bytes.Buffer
		closed := func(n int) bool { return n%2 == 0 }
		service := responder(func(r *http.Request) (*http.Response, error) {
			if n := tenantOf(r); closed(n) {
				return status(429, "", append(quota(1000, 0, 30*time.Second), "Retry-After: 30")...)(r)
			}
			return status(200, "[]", quota(1000, 500, time.Minute)...)(r)
		})
		all := tenants(t, 4, petstore.WithHTTPClient(&http.Client{Transport: service}), petstore.WithMaxWait(0),
			petstore.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		for range 3 {
			for n, client := range all {
				assert.Equal(t, closed(n), errors.Is(list(client), petstore.ErrRateLimited))
				if !closed(n) {
					client.ReopenLimit() // of a key that is open: no effect on the others
				}
			}
		}
		assert.Equal(t, 2, strings.Count(log.String(), "rate limit closed"), "one for each key: %s", &log)
		assert.NotContains(t, log.String(), "open again")
		assert.NotContains(t, log.String(), "other processes", "each key had one 429")
	})
}

func TestRetryTokensAreOfTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := map[int]int{}
		service := responder(func(r *http.Request) (*http.Response, error) {
			n := tenantOf(r)
			if requests[n]++; n == 1 && requests[n] > 1 {
				return status(200, "[]")(r)
			}
			return status(503, "")(r)
		})
		tenant := tenants(t, 2, petstore.WithHTTPClient(&http.Client{Transport: service}), petstore.WithLimiter(nil),
			petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: time.Millisecond}))
		for range 60 {
			require.Error(t, list(tenant[0]))
		}
		require.ErrorContains(t, list(tenant[0]), "503 Service Unavailable: not retried: too many retries lately")
		require.NoError(t, list(tenant[1]), "the other tenant has retries")
	})
}

func TestReopenLimitIsForTheKeysOfTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := ratelimit.New()
		server := fake.NewTestServer(t, fake.WithKey("key-of-another", fake.PlanFree))
		a := server.Client(petstore.WithLimiter(fewAtOnce{limiter, make(chan struct{}, 2)})) // which is found by its Unwrap
		b, err := a.ForKey("key-of-another")
		require.NoError(t, err)
		for _, key := range []string{server.APIKey(), "key-of-another"} {
			server.BanKey(key, time.Hour)
		}
		require.ErrorIs(t, list(a), petstore.ErrRateLimited)
		require.ErrorIs(t, list(b), petstore.ErrRateLimited)
		sent := len(server.Requests())
		a.ReopenLimit()
		require.ErrorIs(t, list(b), petstore.ErrNotSent)
		assert.Len(t, server.Requests(), sent)
		require.ErrorIs(t, list(a), petstore.ErrRateLimited)
		assert.Len(t, server.Requests(), sent+1)
	})
}

func TestWithAPIKeyFunc(t *testing.T) {
	const first, second = "first-key", "second-key"
	unauthorized, created := status(401, ""), status(201, onePet)
	for name, c := range map[string]struct {
		call      func(*petstore.Client, ...petstore.CallOption) error
		keys      []string
		responses []responder
		refused   []bool // Call.KeyRefused in each call of the function
		fails     bool
	}{
		"a 401, and another key":     {create, []string{first, second}, []responder{unauthorized, created}, []bool{false, true}, false},
		"a 401, and the same key":    {create, []string{first, first}, []responder{unauthorized}, []bool{false, true}, true},
		"a 401 for another key, too": {create, []string{first, second}, []responder{unauthorized, unauthorized}, []bool{false, true}, true},
		"a key for each attempt":     {list, []string{first, second}, []responder{status(503, ""), status(200, "[]")}, []bool{false, false}, false},
		"a 401 after another attempt": {
			list, []string{first, first, second}, []responder{status(503, ""), unauthorized, status(200, "[]")}, []bool{false, false, true}, false,
		},
		"a 401 before the last response": {
			list, []string{first, second, second}, []responder{unauthorized, status(503, ""), status(200, "[]")}, []bool{false, true, false}, false,
		},
	} {
		virtual(t, name, func(t *testing.T) {
			var refused []bool
			client, service := rotating(t, func(ctx context.Context) (string, error) {
				call, _ := petstore.CallFromContext(ctx)
				refused = append(refused, call.KeyRefused)
				assert.Equal(t, len(refused), call.Attempt, "the one that the key is for")
				return c.keys[len(refused)-1], nil
			}, c.responses)
			err := c.call(client)
			require.Len(t, service.sent(), len(c.responses))
			for n, r := range service.sent() {
				assert.Equal(t, "Bearer "+c.keys[n], r.header.Get("Authorization"))
			}
			assert.Equal(t, c.refused, refused)
			if !c.fails {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, petstore.ErrUnauthorized)
			require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
			assert.Equal(t, len(c.responses), as[*petstore.APIError](t, err).Attempts)
		})
	}
	virtual(t, "a key that takes longer than an attempt may", func(t *testing.T) {
		client, service := rotating(t, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, nil, petstore.WithAttemptTimeout(time.Second))
		err := list(client)
		require.ErrorIs(t, err, petstore.ErrTimeout)
		require.ErrorIs(t, err, petstore.ErrNotSent)
		require.NotErrorIs(t, err, context.DeadlineExceeded, "which is for the caller's deadline")
		assert.Empty(t, service.sent())
	})
	client, service := scripted(t, []responder{unauthorized})
	require.ErrorIs(t, list(client), petstore.ErrUnauthorized)
	assert.Len(t, service.sent(), 1, "a fixed key is not tried again")
}
