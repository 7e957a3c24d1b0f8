package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func envOf(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

// testInstance is an instance that is called without a port.
type testInstance struct {
	t *testing.T
	http.Handler
	stderr output
}

// newTestInstance returns the instance of a command line.
func newTestInstance(t *testing.T, args ...string) testInstance {
	t.Helper()
	s, err := readSettings(args, envOf(nil))
	require.NoError(t, err)
	stderr := newOutput()
	srv, handler := newService(s, stderr)
	t.Cleanup(srv.Close)
	return testInstance{t, handler, stderr}
}

func request(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, io.NopCloser(strings.NewReader(body)))
	r.Host = "127.0.0.1:4010"
	r.Header.Set("Content-Type", "application/json")
	return r
}

func (i testInstance) send(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	i.ServeHTTP(w, r)
	return w
}

// call sends a request with a key. Admin routes ignore the key.
func (i testInstance) call(key, method, path, body string) *httptest.ResponseRecorder {
	r := request(i.t, method, path, body)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return i.send(r)
}

// admin calls an admin route, such as "POST keys", and checks the status of the response, and that
// its body has the parts in their order.
func (i testInstance) admin(route, body string, status int, parts ...string) {
	method, path, _ := strings.Cut(route, " ")
	w := i.call("", method, "/_fake/"+path, body)
	assert.Equal(i.t, status, w.Code, "%s %.99s: %s", route, body, w.Body)
	rest := w.Body.String()
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		assert.True(i.t, found, "%s %.99s: no %s in %s", route, body, part, rest)
		rest = after
	}
}

// list calls listPets with each of some keys, and returns the statuses.
func (i testInstance) list(keys ...string) (statuses []int) {
	for _, key := range keys {
		statuses = append(statuses, i.call(key, http.MethodGet, "/v1/pets", "").Code)
	}
	return statuses
}

// output receives each text that a program writes.
type output chan string

func newOutput() output { return make(output, 1000) }

func (o output) Write(p []byte) (int, error) {
	o <- string(p)
	return len(p), nil
}

// rest returns what was written and not received.
func (o output) rest() (all string) {
	for len(o) > 0 {
		all += <-o
	}
	return all
}
