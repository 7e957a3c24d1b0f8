package petstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// tenantKey is the context's key for the API key of a tenant.
type tenantKey struct{}

// tenants returns functions that list pets as the n-th tenant, and the client of each: made by ForKey,
// or one client with a function that finds the key in the context.
func tenants(t *testing.T, n int, opts ...petstore.Option) map[string]func(n int) (func() error, *petstore.Client) {
	t.Helper()
	family, err := petstore.NewClient("https://service.test/v1", testKey, opts...)
	require.NoError(t, err)
	var own []*petstore.Client
	for n := range n {
		client, err := family.ForKey(key(n))
		require.NoError(t, err)
		own = append(own, client)
	}
	one, err := petstore.NewClient("https://service.test/v1", "", append(opts, petstore.WithAPIKeyFunc(
		func(ctx context.Context) (string, error) { return ctx.Value(tenantKey{}).(string), nil }))...)
	require.NoError(t, err)
	return map[string]func(int) (func() error, *petstore.Client){
		"ForKey": func(n int) (func() error, *petstore.Client) {
			return func() error { return list(own[n]) }, own[n]
		},
		"WithAPIKeyFunc": func(n int) (func() error, *petstore.Client) {
			ctx := context.WithValue(context.Background(), tenantKey{}, key(n))
			return func() error {
				_, err := one.ListPets(ctx, petstore.ListPetsParams{})
				return err
			}, one
		},
	}
}

func key(n int) string { return fmt.Sprintf("key-of-tenant-%d", n) }

// tenantOf returns the number of the tenant whose key a request has.
func tenantOf(r *http.Request) (n int) {
	_, _ = fmt.Sscanf(r.Header.Get("Authorization"), "Bearer key-of-tenant-%d", &n)
	return n
}

func TestTenantsNeverMeet(t *testing.T) {
	const all = 50
	for _, way := range []string{"ForKey", "WithAPIKeyFunc"} {
		virtual(t, "rate limits and cookies, "+way, func(t *testing.T) {
			cookies := map[int]string{} // of each tenant's next request
			service := responder(func(r *http.Request) (*http.Response, error) {
				n := tenantOf(r)
				assert.Equal(t, cookies[n], r.Header.Get("Cookie"))
				cookies[n] = fmt.Sprintf("tenant=%d", n)
				return status(200, "[]", append(quota(1000, 500+n, time.Minute), "Set-Cookie: "+cookies[n])...)(r)
			})
			jar, _ := cookiejar.New(nil)
			tenant := tenants(t, all, petstore.WithHTTPClient(&http.Client{Transport: service, Jar: jar}))[way]
			for range 2 {
				for n := range all {
					call, client := tenant(n)
					require.NoError(t, call())
					assert.Equal(t, 500+n, client.RateLimit().Remaining)
				}
			}
		})
		virtual(t, "lockouts in the log and ReopenLimit, "+way, func(t *testing.T) {
			var log bytes.Buffer
			closed := func(n int) bool { return n%2 == 0 }
			service := responder(func(r *http.Request) (*http.Response, error) {
				if n := tenantOf(r); closed(n) {
					return status(429, "", append(quota(1000, 0, 30*time.Second), "Retry-After: 30")...)(r)
				}
				return status(200, "[]", quota(1000, 500, time.Minute)...)(r)
			})
			tenant := tenants(t, 4, petstore.WithHTTPClient(&http.Client{Transport: service}), petstore.WithMaxWait(0),
				petstore.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))[way]
			for range 3 {
				for n := range 4 {
					call, client := tenant(n)
					assert.Equal(t, closed(n), errors.Is(call(), petstore.ErrRateLimited))
					if way == "ForKey" && !closed(n) {
						client.ReopenLimit() // of a key that is open: no effect on the others
					}
				}
			}
			assert.Equal(t, 2, strings.Count(log.String(), "rate limit closed"), "one for each key: %s", &log)
			assert.NotContains(t, log.String(), "open again")
			assert.NotContains(t, log.String(), "other processes", "each key had one 429")
		})
	}
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
			petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: time.Millisecond}))["ForKey"]
		first, _ := tenant(0)
		for range 60 {
			require.Error(t, first())
		}
		require.ErrorContains(t, first(), "503 Service Unavailable: not retried: too many retries lately")
		second, _ := tenant(1)
		require.NoError(t, second(), "the other tenant has retries")
	})
}

func TestReopenLimitIsForTheKeysOfTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := petstore.NewLimiter()
		server := fake.NewTestServer(t, fake.WithKey("key-of-another", fake.PlanFree))
		a := server.Client(petstore.WithLimiter(limiter))
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

func TestKeyRefusedLog(t *testing.T) {
	var log bytes.Buffer
	refused, good := status(401, ""), status(200, "[]")
	client, _ := scripted(t, []responder{refused, refused, good, refused, good}, petstore.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	for range 5 {
		_ = list(client)
	}
	assert.Equal(t, 2, strings.Count(log.String(), `level=WARN msg="petstore: key refused"`), "once until the key works again: %s", &log)
}

// TestHangingTransport has transports over HTTP/2 that hang in each of their operations, as net/http
// does after a WINDOW_UPDATE of 2^31-1 for a stream.
func TestHangingTransport(t *testing.T) {
	for _, where := range []string{"RoundTrip", "Read", "Close"} {
		virtual(t, where, func(t *testing.T) {
			release := make(chan struct{})
			hang := func(in string) {
				if in == where {
					<-release
				}
			}
			calls := 0
			client, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
				resp := response(r, 200, strings.NewReader("[]"))
				resp.ProtoMajor = 2
				if calls++; calls > 1 {
					hang("RoundTrip")
					resp.Body = hangingBody{strings.NewReader("[]"), hang}
				}
				return resp, nil
			}}, petstore.WithAttemptTimeout(time.Second), petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
			require.NoError(t, list(client))
			start := time.Now()
			err := list(client)
			assert.LessOrEqual(t, time.Since(start), 1100*time.Millisecond)
			if where != "Close" { // the response is complete
				require.ErrorIs(t, err, petstore.ErrTimeout)
			}
			close(release)
		})
	}
}

type hangingBody struct {
	io.Reader
	hang func(in string)
}

func (b hangingBody) Read(p []byte) (int, error) { b.hang("Read"); return b.Reader.Read(p) }
func (b hangingBody) Close() error               { b.hang("Close"); return nil }
