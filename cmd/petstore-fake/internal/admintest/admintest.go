// Package admintest sends requests to the program's handlers in tests.
package admintest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Host is the Host of the requests.
const Host = "127.0.0.1:4010"

// Request returns a request with a body that is JSON, if there is one.
func Request(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	var reader io.Reader = http.NoBody
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, reader)
	r.Host = Host
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// Send sends a request. A stream of events ends after the first.
func Send(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	if r.URL.Path == "/_fake/events" {
		ctx, cancel := context.WithCancel(r.Context())
		cancel()
		r = r.WithContext(ctx)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
