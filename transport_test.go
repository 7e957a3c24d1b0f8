package petstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

func TestResponseIsReadToItsEnd(t *testing.T) {
	testkit.Loopback(t)
	server, connections := fake.NewTestServer(t), 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if !info.Reused {
			connections++
		}
	}})
	client, err := petstore.NewClient(server.URL(), server.APIKey(), petstore.WithMaxResponseBytes(1000),
		petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: time.Nanosecond}))
	require.NoError(t, err)
	for _, f := range []fake.Fault{
		{Status: 503, Body: bytes.Repeat([]byte("x"), 50_000)}, {Status: 404}, {Body: []byte(`[{]`)},
		{Status: 302, Header: http.Header{"Location": {"/v1/elsewhere"}}},
		{Body: []byte(`["` + strings.Repeat("x", 2000) + `"]`)}, // over the limit
	} {
		server.Inject(f)
		for range 3 {
			_, _ = client.ListPets(ctx, petstore.ListPetsParams{})
		}
	}
	assert.Equal(t, 1, connections, "so that the next request uses the connection")
	client.CloseIdleConnections()
}

func TestRedirectIsNotFollowed(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, location := range []string{"https://elsewhere.test/v1/pets", "http://service.test/v1/pets", "/v1/pets"} {
			client, service := scripted(t, []responder{status(code, "", "Location: "+location)})
			for operation, sample := range samples {
				err := sample.call(client)
				require.ErrorContains(t, err, fmt.Sprintf("%s: %d", operation, code))
				e := as[*petstore.APIError](t, err)
				assert.Equal(t, location, e.Header.Get("Location"), "the caller may want to know")
				assert.NotContains(t, err.Error(), location)
			}
			assert.Len(t, service.sent(), len(samples))
		}
	}
}

func TestWithMaxResponseBytes(t *testing.T) {
	client, _ := scripted(t, []responder{status(200, twoPets)}, petstore.WithMaxResponseBytes(int64(len(twoPets))))
	require.NoError(t, list(client))
	client, service := scripted(t, []responder{status(200, twoPets)}, petstore.WithMaxResponseBytes(int64(len(twoPets)-1)))
	require.ErrorIs(t, list(client), petstore.ErrInvalidResponse)
	assert.Len(t, service.sent(), 1)
	client, _ = scripted(t, []responder{status(200, twoPets)}, petstore.WithMaxResponseBytes(1<<63-1))
	require.NoError(t, list(client))
	never := io.MultiReader(strings.NewReader(twoPets), failingReader{func() error { return nil }})
	client, _ = scripted(t, []responder{streams(never)}, petstore.WithMaxResponseBytes(10))
	require.ErrorContains(t, list(client), "body is too large", "although the rest never comes")
}

// streams responds with a body.
func streams(r io.Reader) responder {
	return func(req *http.Request) (*http.Response, error) { return response(req, 200, r), nil }
}

// slowSpace is a body of spaces that takes seven seconds for each read.
type slowSpace struct{}

func (slowSpace) Read(p []byte) (int, error) {
	time.Sleep(7 * time.Second)
	return copy(p, " "), nil
}

// The body of a user's transport need not heed the context.
func TestBodyThatHeedsNoContext(t *testing.T) {
	late := func(respond responder) responder {
		return func(r *http.Request) (*http.Response, error) {
			time.Sleep(40 * time.Second)
			return respond(r)
		}
	}
	drips := streams(slowSpace{})
	for name, row := range map[string]struct {
		respond responder
		takes   time.Duration
		fails   bool
	}{
		"slow": {drips, 35 * time.Second, true}, "slow and late": {late(drips), 47 * time.Second, true},
		"late and complete": {late(status(200, twoPets)), 40 * time.Second, false},
	} {
		for _, most := range []int64{1, 1 << 20} {
			virtual(t, fmt.Sprint(name, ", up to ", most), func(t *testing.T) {
				client, _ := scripted(t, []responder{row.respond}, petstore.WithMaxResponseBytes(most), once)
				start := time.Now()
				err := list(client)
				assert.Equal(t, row.takes, time.Since(start))
				assert.Equal(t, row.fails || most == 1, err != nil)
				assert.True(t, !row.fails || most == 1 || errors.Is(err, petstore.ErrTimeout), "%v", err)
			})
		}
	}
}

func TestKeyThatIsAUsualWord(t *testing.T) {
	for _, word := range []string{"application", "content", "Content-Type", "identity", "X-RateLimit-Limit"} {
		client := newClient(t, status(200, twoPets, quota(60, 59, time.Minute)...), word)
		listed, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err, word)
		assert.Equal(t, 59, listed.RateLimit.Remaining)
	}
}

func TestWithTransport(t *testing.T) {
	t.Run("wraps the transport, the last one around the others", func(t *testing.T) {
		var order []string
		wrap := func(name string) petstore.Option {
			return petstore.WithTransport(func(next http.RoundTripper) http.RoundTripper {
				return responder(func(r *http.Request) (*http.Response, error) {
					order = append(order, name)
					return next.RoundTrip(r)
				})
			})
		}
		client, _ := scripted(t, []responder{status(200, "[]")}, wrap("inner"), wrap("outer"))
		require.NoError(t, list(client))
		assert.Equal(t, []string{"outer", "inner"}, order)
	})
	virtual(t, "may change the request and keep the response", func(t *testing.T) {
		cached := response(nil, 200, http.NoBody, "X-Cache: hit")
		cached.Header["X-Cache"] = append(make([]string, 0, 2), "hit")
		changes := func(code int) responder {
			return func(r *http.Request) (*http.Response, error) {
				for _, values := range r.Header {
					values[0] = "overwritten"
				}
				r.URL.Path = "/prefix" + r.URL.Path
				resp := *cached
				resp.StatusCode, resp.Body = code, io.NopCloser(strings.NewReader("[]"))
				return &resp, nil
			}
		}
		client, service := scripted(t, []responder{changes(503), changes(200)}, petstore.WithHeader("X-Team", "core"))
		var kept [][]string
		for _, value := range []string{"first", "second"} {
			result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
			assert.Equal(t, "hit", result.Header.Get("X-Cache"))
			kept = append(kept, append(result.Header["X-Cache"], value))
			result.Header.Set("X-Cache", "changed")
		}
		assert.Equal(t, [][]string{{"hit", "first"}, {"hit", "second"}}, kept)
		for _, r := range service.sent() {
			assert.Equal(t, service.sent()[0].url, r.url, "each attempt has a URL of its own")
			assert.Equal(t, service.sent()[0].header, r.header)
			assert.Equal(t, "Bearer "+testKey, r.header.Get("Authorization"))
		}
	})
	t.Run("may return a nil pointer as its error", func(t *testing.T) {
		var none *net.OpError
		client, _ := scripted(t, []responder{
			func(r *http.Request) (*http.Response, error) { return response(r, 200, strings.NewReader("[]")), none },
			fails(none),
		}, once)
		require.NoError(t, list(client))
		require.ErrorContains(t, list(client), "neither a response nor an error")
	})
	t.Run("cannot say that a write was not sent if it has read the body", func(t *testing.T) {
		client, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			return nil, petstore.ErrNotSent
		}})
		require.ErrorIs(t, create(client), petstore.ErrOutcomeUnknown)
	})
}
