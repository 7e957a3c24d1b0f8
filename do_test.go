package petstore_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

func TestDo(t *testing.T) {
	once := petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 1})
	client, service := scripted(t, []responder{status(503, ""), status(200, `{"a":1}`)}, once)
	var out struct{ A int }
	resp, err := client.Do(t.Context(), "GET", "/orders/7?full=true", nil, &out)
	require.NoError(t, err)
	assert.Equal(t, 2, resp.Attempts)
	assert.Equal(t, 1, out.A)
	assert.Len(t, service.sent(), 2)

	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		for _, in := range []any{nil, map[string]int{"a": 1}} {
			client, service = scripted(t, []responder{status(503, "")}, once)
			_, err = client.Do(t.Context(), method, "orders", in, nil)
			require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
			assert.Len(t, service.sent(), 1)
			client, _ = scripted(t, []responder{status(204, "")}, once)
			_, err = client.Do(t.Context(), method, "orders", in, &out)
			require.NoError(t, err)
			client, _ = scripted(t, []responder{status(404, "")}, once)
			_, err = client.Do(t.Context(), method, "orders", in, &out)
			require.ErrorIs(t, err, petstore.ErrNotFound)
			require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
		}
	}
}

func TestDoStaysBelowTheBaseURL(t *testing.T) {
	client, service := scripted(t, nil)
	for _, path := range []string{
		"", "/", "?a=1", "//evil.test/x", "https://evil.test/x", "../admin", "pets/../../admin", "pets/..", "./pets", "pets/./7",
		"%2e%2e/admin", "pets%2f..%2f..", "pets/%252e%252e/x", "pets\\..\\x", "pets/%5c..", "..;/admin", "pets//7", "a b", "a#b",
		"a\r\nb", "%00", "%zz", "pets?a b", "pets?a\nb", "pets?a#b", "käse",
	} {
		_, err := client.Do(t.Context(), http.MethodGet, path, nil, nil)
		require.ErrorIs(t, err, petstore.ErrInvalidArgument, path)
	}
	for _, method := range []string{"", "get", "CONNECT", "TRACE", "A B"} {
		_, err := client.Do(t.Context(), method, "pets", nil, nil)
		require.ErrorIs(t, err, petstore.ErrInvalidArgument, method)
	}
	_, err := client.Do(t.Context(), "GET", "pets", 1, nil)
	require.ErrorIs(t, err, petstore.ErrInvalidArgument)
	_, err = client.Do(t.Context(), "POST", "pets", func() {}, nil)
	require.ErrorIs(t, err, petstore.ErrInvalidArgument)
	_, err = client.Do(t.Context(), "POST", "pets", nil, struct{}{})
	require.ErrorIs(t, err, petstore.ErrInvalidArgument)
	assert.Empty(t, service.sent())
}
