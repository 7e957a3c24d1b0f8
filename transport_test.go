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
	client, err := petstore.NewClient(server.URL(), server.APIKey(),
		petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: time.Nanosecond}))
	require.NoError(t, err)
	for _, f := range []fake.Fault{
		{Status: 503, Body: bytes.Repeat([]byte("x"), 50_000)}, {Status: 404}, {Body: []byte(`[{]`)},
		{Status: 302, Header: http.Header{"Location": {"/v1/elsewhere"}}},
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
}
