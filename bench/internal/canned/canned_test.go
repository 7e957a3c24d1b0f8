package canned_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/bench/internal/canned"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTransport compares the responses of the stub with the server's.
func TestTransport(t *testing.T) {
	srv := httptest.NewServer(canned.NewHandler())
	defer srv.Close()
	for _, o := range canned.Operations() {
		stub := send(t, canned.NewTransport(), "http://127.0.0.1", o)
		network := send(t, http.DefaultTransport, srv.URL, o)
		assert.NotEmpty(t, stub.Header.Get("Date"))
		network.Header.Set("Date", stub.Header.Get("Date"))
		assert.Equal(t, stub, network, o.Name)
		assert.Equal(t, o.Status, stub.StatusCode, o.Name)
		assert.Len(t, stub.Header, 6, o.Name)
	}
}

// seen is what a client sees of a response.
type seen struct {
	Status     string
	StatusCode int
	Header     http.Header
	Body       string
	Length     int64
}

func send(t *testing.T, via http.RoundTripper, host string, o canned.Operation) seen {
	t.Helper()
	method, path := http.MethodPost, "/v1/pets"
	switch {
	case o.Limit > 0:
		method, path = http.MethodGet, fmt.Sprint(path, "?limit=", o.Limit)
	case o.ID > 0:
		method, path = http.MethodGet, fmt.Sprint(path, "/", o.ID)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, host+path, strings.NewReader("{}"))
	require.NoError(t, err)
	resp, err := via.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return seen{resp.Status, resp.StatusCode, resp.Header, string(body), resp.ContentLength}
}
