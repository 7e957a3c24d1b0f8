package petstore_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
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

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	loopback.Host(t)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func TestConnectionReuse(t *testing.T) {
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
	assert.Equal(t, 1, connections)
	client.CloseIdleConnections()
}

func TestRedirectIsNotFollowed(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, location := range []string{"https://elsewhere.test/v1/pets", "http://service.test/v1/pets", "/v1/pets"} {
			client, service := scripted(t, []responder{status(code, "", "Location: "+location)})
			for operation, call := range operations {
				err := call(client)
				require.ErrorContains(t, err, fmt.Sprintf("%s: %d", operation, code))
				e := as[*petstore.APIError](t, err)
				assert.Equal(t, location, e.Header.Get("Location"), "the caller may want to know")
				assert.NotContains(t, err.Error(), location)
			}
			assert.Len(t, service.sent(), len(operations))
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
}

func TestResponseHeaderLimit(t *testing.T) {
	loopback.Host(t)
	server := fake.NewTestServer(t)
	server.Inject(fake.Fault{Header: http.Header{"X-Flood": {strings.Repeat("x", 2<<20)}}})
	client, err := petstore.NewClient(server.URL(), server.APIKey())
	require.NoError(t, err)
	err = list(client)
	require.ErrorIs(t, err, petstore.ErrInvalidResponse)
	require.ErrorContains(t, err, "response headers exceeded 1048576 bytes")
	assert.Len(t, server.Requests(), 1)
}
