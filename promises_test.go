package petstore_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestTransportErrorSent(t *testing.T) {
	t.Run("is true for a read with a response before its backoff was cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client, _ := scripted(t, []responder{status(503, "")})
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("gone"))
			defer cancel()
			time.AfterFunc(10*time.Millisecond, cancel)
			_, err := client.ListPets(ctx, petstore.ListPetsParams{})
			failed, ok := errors.AsType[*petstore.TransportError](err)
			require.True(t, ok, "%T", err)
			assert.True(t, failed.Sent)
		})
	})
	t.Run("does not make the outcome of a create unknown after a 429", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			broken := &brokenLimiter{Limiter: petstore.NewLimiter()}
			client, _ := scripted(t, []responder{status(429, "", "Retry-After: 1")}, petstore.WithLimiter(broken))
			_, err := client.CreatePet(t.Context(), newPet())
			failed, ok := errors.AsType[*petstore.TransportError](err)
			require.True(t, ok, "%T", err)
			assert.True(t, failed.Sent)
			assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
			assert.ErrorIs(t, err, petstore.ErrRateLimited)
		})
	})
	t.Run("is true if a registered protocol or a second transport may have written it", func(t *testing.T) {
		lost := responder(func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			return nil, io.EOF
		})
		registered := &http.Transport{}
		registered.RegisterProtocol("https", lost)
		unreachable := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, errRefused
		}}
		for name, transport := range map[string]http.RoundTripper{
			"registered": registered,
			"second":     fallback{unreachable, lost},
		} {
			client, err := petstore.NewClient("https://service.test/v1", testKey,
				petstore.WithHTTPClient(&http.Client{Transport: transport}))
			require.NoError(t, err)
			_, err = client.CreatePet(t.Context(), newPet())
			assert.ErrorIs(t, err, petstore.ErrOutcomeUnknown, name)
		}
	})
}

// fallback uses the second transport if the first one fails.
type fallback struct{ first, second http.RoundTripper }

func (f fallback) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := f.first.RoundTrip(r)
	if err != nil {
		return f.second.RoundTrip(r)
	}
	return resp, nil
}

func TestResponseErrorKeepsNeitherTheKeyNorMegabytes(t *testing.T) {
	t.Parallel()
	const key = "secret-key-0123456789"
	long := strings.Repeat(key+"-", 200_000)
	for name, body := range map[string]string{
		"a long name":     `[{"` + long + `":[}]`,
		"a duplicate":     `[{"` + key + `":1,"` + key + `":2}]`,
		"cut in the key":  `[{"id":1,"name":"` + key[:15],
		"cut in a escape": `[{"id":1,"name":"secret\u002dkey\u002d01`,
	} {
		client, err := petstore.NewClient("https://service.test/v1", key, petstore.WithMaxResponseBytes(64<<20),
			petstore.WithHTTPClient(&http.Client{Transport: &service{responders: []responder{status(200, body)}}}))
		require.NoError(t, err)
		err = list(client)
		bad, ok := errors.AsType[*petstore.ResponseError](err)
		require.True(t, ok, "%s: %v", name, err)
		for cause := error(bad); cause != nil; cause = errors.Unwrap(cause) {
			assert.NotContains(t, cause.Error(), key[:12], name)
			assert.LessOrEqual(t, len(cause.Error()), 512, name)
		}
		assert.NotContains(t, string(bad.Body), key, name)
	}
}

func TestAPIErrorBodyHasNoPartOfTheKey(t *testing.T) {
	t.Parallel()
	const key = "secret-key-0123456789"
	for most := range int64(60) {
		client, err := petstore.NewClient("https://service.test/v1", key, petstore.WithMaxResponseBytes(most+1),
			petstore.WithHTTPClient(&http.Client{Transport: &service{responders: []responder{
				status(400, `{"message":"no such key: `+key+`"}`, "X-Secret-Key-0123456789: "+key),
			}}}))
		require.NoError(t, err)
		_, err = client.CreatePet(t.Context(), newPet())
		refused, ok := errors.AsType[*petstore.APIError](err)
		require.True(t, ok, "%v", err)
		assert.NotContains(t, string(refused.Body), key[:6], most)
		for name, values := range refused.Header {
			assert.NotContains(t, strings.ToLower(name+strings.Join(values, " ")), key[:12])
		}
	}
}

func TestCallFromContextInDialer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		for range 1000 { // the dialer continues after the attempt was given up
			c, _ := petstore.CallFromContext(ctx)
			assert.Equal(t, "listPets", c.Operation)
		}
		<-release
		return nil, errRefused
	}}
	client, err := petstore.NewClient("https://service.test/v1", testKey, petstore.WithLimiter(nil),
		petstore.WithHTTPClient(&http.Client{Transport: transport}), petstore.WithAttemptTimeout(time.Millisecond),
		petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 20, BaseDelay: time.Microsecond}))
	require.NoError(t, err)
	var hooked atomic.Int32
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GetConn: func(string) { hooked.Add(1) }})
	_, err = client.ListPets(ctx, petstore.ListPetsParams{})
	require.Error(t, err)
	close(release)
	assert.NotZero(t, hooked.Load(), "the caller's hooks are called, too")
}

func TestLimiterOfTheUser(t *testing.T) {
	t.Run("may return a nil pointer as its error", func(t *testing.T) {
		for _, err := range []error{(*petstore.RateLimitError)(nil), (*net.OpError)(nil)} {
			permit := new(countingLimiter)
			client, _ := scripted(t, []responder{status(200, "[]")}, petstore.WithLimiter(fixedLimiter{permit, err}))
			require.NoError(t, list(client))
			assert.Len(t, permit.released, 1)
		}
	})
	t.Run("may return a permit with an error: the permit is released", func(t *testing.T) {
		permit := new(countingLimiter)
		client, service := scripted(t, nil, petstore.WithLimiter(fixedLimiter{permit, errors.New("no")}))
		require.Error(t, list(client))
		assert.Len(t, permit.released, 1)
		assert.Empty(t, service.sent())
	})
	t.Run("may be slow: the attempt's timeout begins after it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var left time.Duration
			client, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
				deadline, _ := r.Context().Deadline()
				left = time.Until(deadline)
				return status(200, "[]")(r)
			}}, petstore.WithLimiter(slowLimiter{petstore.NewLimiter(), 2 * time.Second}), petstore.WithAttemptTimeout(3*time.Second))
			require.NoError(t, list(client))
			assert.Equal(t, 3*time.Second, left)
		})
	})
	t.Run("counts as waiting for WithMaxWait, all of it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client, service := scripted(t, []responder{status(429, "", "Retry-After: 5")},
				petstore.WithLimiter(slowLimiter{petstore.NewLimiter(), 2 * time.Second}), petstore.WithMaxWait(6*time.Second))
			err := list(client)
			require.ErrorIs(t, err, petstore.ErrRateLimited)
			assert.Len(t, service.sent(), 1)
		})
	})
	t.Run("may be two limiters in one: their queues do not mix", func(t *testing.T) {
		first, second := new(ticketLimiter), new(ticketLimiter)
		second.issued = 100
		client, _ := scripted(t, []responder{status(503, ""), status(200, "[]")},
			petstore.WithLimiter(twoLimiters{first, second}), petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 1}))
		require.NoError(t, list(client))
		assert.Equal(t, []uint64{1, 1}, first.seen)
		assert.Equal(t, []uint64{101, 101}, second.seen)
	})
}

func TestNewClientLocalhost(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://proxy.test:1")
	server := fake.NewTestServer(t)
	_, port, err := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(server.URL(), "http://"), "/v1"))
	require.NoError(t, err)
	for _, host := range []string{"LOCALHOST", "Localhost", "localhost"} {
		client, err := petstore.NewClient("http://"+host+":"+port+"/v1", server.APIKey(),
			petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
		require.NoError(t, err)
		assert.NoError(t, list(client), host)
		assert.Equal(t, "http://localhost:"+port+"/v1", client.BaseURL())
	}
	for _, base := range []string{"http://[::1%25lo]/v1", "http://localhoſt/v1", "http://localhost./v1"} {
		_, err := petstore.NewClient(base, testKey)
		assert.ErrorContains(t, err, "not loopback", base)
	}
}

func TestNewClientFromEnvKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	t.Setenv("PETSTORE_BASE_URL", "https://service.test/v1")
	t.Setenv("PETSTORE_API_KEY_FILE", file)
	require.NoError(t, os.WriteFile(file, []byte(testKey+strings.Repeat("\n", 64<<10-len(testKey))), 0o600))
	_, err := petstore.NewClientFromEnv()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(testKey+strings.Repeat("\n", 64<<10)), 0o600))
	_, err = petstore.NewClientFromEnv()
	assert.ErrorContains(t, err, "more than 64 KiB")
	if _, err := os.Stat("/dev/zero"); err == nil {
		t.Setenv("PETSTORE_API_KEY_FILE", "/dev/zero")
		_, err = petstore.NewClientFromEnv()
		assert.ErrorContains(t, err, "more than 64 KiB")
	}
}

func TestGetPetWithOtherID(t *testing.T) {
	t.Parallel()
	client, _ := scripted(t, []responder{status(200, onePet)})
	_, err := client.GetPet(t.Context(), 8)
	require.ErrorIs(t, err, petstore.ErrInvalidResponse)
	assert.ErrorContains(t, err, "id is 7 instead of 8")
}

func TestWithTransport(t *testing.T) {
	t.Parallel()
	var order []string
	wrap := func(name string) petstore.Option {
		return petstore.WithTransport(func(next http.RoundTripper) http.RoundTripper {
			if tuned, ok := next.(*http.Transport); ok {
				assert.Equal(t, 64, tuned.MaxIdleConnsPerHost)
			}
			return responder(func(r *http.Request) (*http.Response, error) {
				order = append(order, name)
				return next.RoundTrip(r)
			})
		})
	}
	server := fake.NewTestServer(t)
	client, err := petstore.NewClient(server.URL(), server.APIKey(), wrap("inner"), wrap("outer"))
	require.NoError(t, err)
	require.NoError(t, list(client))
	assert.Equal(t, []string{"outer", "inner"}, order)

	for _, wrap := range []func(http.RoundTripper) http.RoundTripper{
		nil, func(http.RoundTripper) http.RoundTripper { return nil },
	} {
		_, err := petstore.NewClient("https://service.test/v1", testKey, petstore.WithTransport(wrap))
		_, ok := errors.AsType[*petstore.ArgumentError](err)
		assert.True(t, ok, "%v", err)
	}
}

func TestRateLimitErrorRetryAtIsNotInThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slowly := func(r *http.Request) (*http.Response, error) {
			body := io.MultiReader(strings.NewReader("{"), sleepyReader(5*time.Second))
			return response(r, 429, body, "Retry-After: 1"), nil
		}
		client, _ := scripted(t, []responder{slowly}, petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
		limited, ok := errors.AsType[*petstore.RateLimitError](list(client))
		require.True(t, ok)
		assert.Equal(t, time.Now(), limited.RetryAt)
	})
}

// sleepyReader is a body that ends after some time.
type sleepyReader time.Duration

func (r sleepyReader) Read([]byte) (int, error) {
	<-time.After(time.Duration(r))
	return 0, io.EOF
}
