package petstore_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/loopback"
)

func TestResponseIsReadToItsEnd(t *testing.T) {
	loopback.Host(t)
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
	t.Run("may change the request and keep the response", func(t *testing.T) {
		cached := response(nil, 200, http.NoBody, "X-Cache: hit")
		client, service := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
			for _, values := range r.Header {
				values[0] = "overwritten"
			}
			resp := *cached
			resp.Body = io.NopCloser(strings.NewReader("[]"))
			return &resp, nil
		}}, petstore.WithHeader("X-Team", "core"))
		for range 2 {
			result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
			assert.Equal(t, "hit", result.Header.Get("X-Cache"))
			result.Header.Set("X-Cache", "changed")
		}
		assert.Equal(t, service.sent()[0].header, service.sent()[1].header)
		assert.Equal(t, "Bearer "+testKey, service.sent()[1].header.Get("Authorization"))
	})
	t.Run("cannot say that a write was not sent if it has read the body", func(t *testing.T) {
		client, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			return nil, petstore.ErrNotSent
		}})
		require.ErrorIs(t, create(client), petstore.ErrOutcomeUnknown)
	})
}
