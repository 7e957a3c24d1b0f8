package petstore_test

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/loopback"
)

func TestWithHTTPClientCookies(t *testing.T) {
	loopback.Need(t)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("route"); err == nil {
			w.Header().Set("X-Route", c.Value)
		}
		http.SetCookie(w, &http.Cookie{Name: "route", Value: "b7"})
		respondJSON(w, 200, `[]`)
	})
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := clientOf(t, server, petstore.WithHTTPClient(&http.Client{Jar: jar, Transport: server.Client().Transport}))
	_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	assert.Equal(t, "b7", result.Header.Get("X-Route"))
}

func TestWithHTTPClientIncompleteResponse(t *testing.T) {
	for name, c := range map[string]struct {
		response *http.Response
		want     string
	}{
		"nothing":                 {nil, "the transport returned neither a response nor an error"},
		"neither header nor body": {&http.Response{StatusCode: http.StatusNotFound}, "404 Not Found"},
		"a status that is none":   {&http.Response{}, "malformed HTTP response: status 000"},
	} {
		attempts := 0
		client, err := petstore.NewClient("https://service.test/v1", testKey, petstore.WithHTTPClient(&http.Client{
			Transport: responder(func(*http.Request) (*http.Response, error) {
				attempts++
				return c.response, nil
			}),
		}))
		require.NoError(t, err)
		for operation, call := range calls(client) {
			attempts = 0
			require.ErrorContains(t, call(t), c.want, "%s, %s", name, operation)
			assert.Equal(t, 1, attempts, "%s, %s: a retry would fail in the same way", name, operation)
		}
	}
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
	_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	assert.Equal(t, before.Transport, hc.Transport)
	assert.Nil(t, hc.CheckRedirect)
	assert.Equal(t, time.Second, hc.Timeout)
}
