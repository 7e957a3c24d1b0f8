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

// testInstance is a petstore-fake whose handler the tests call directly, without a port.
type testInstance struct {
	t *testing.T
	http.Handler
	stderr output
}

// newTestInstance returns a petstore-fake with the flags args.
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

// call sends a request with a key, unless the key is empty. Admin routes ignore the key.
func (i testInstance) call(key, method, path, body string) *httptest.ResponseRecorder {
	r := request(i.t, method, path, body)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return i.send(r)
}

// admin calls an admin route, such as "POST keys". It checks the status of the response, and that
// the body of the response contains the parts in this order.
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

// list calls listPets once with each of the keys, and returns the statuses of the responses.
func (i testInstance) list(keys ...string) (statuses []int) {
	for _, key := range keys {
		statuses = append(statuses, i.call(key, http.MethodGet, "/v1/pets", "").Code)
	}
	return statuses
}

// output is a writer for a program. The test receives each text that the program has written.
type output chan string

func newOutput() output { return make(output, 1000) }

func (o output) Write(p []byte) (int, error) {
	o <- string(p)
	return len(p), nil
}

// rest receives and returns all texts that the test has not received yet.
func (o output) rest() (all string) {
	for len(o) > 0 {
		all += <-o
	}
	return all
}
