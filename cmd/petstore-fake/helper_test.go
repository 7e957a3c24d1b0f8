package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

// noEnv is an environment without variables.
func noEnv(string) string { return "" }

func envOf(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

// testInstance is an instance that is called without a port.
type testInstance struct {
	t *testing.T
	*instance
	stderr *output
}

// newTestInstance returns the instance of a command line.
func newTestInstance(t *testing.T, args ...string) testInstance {
	t.Helper()
	s, err := readSettings(args, noEnv)
	require.NoError(t, err)
	stderr := newOutput()
	i := newInstance(s, stderr)
	t.Cleanup(i.close)
	return testInstance{t, i, stderr}
}

// request returns a request with a body that is JSON, if there is one.
func request(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	if r.Host = "127.0.0.1:4010"; body != "" {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// send sends a request. A stream of events ends after the first.
func (i testInstance) send(r *http.Request) *httptest.ResponseRecorder {
	if r.URL.Path == "/_fake/events" {
		ctx, cancel := context.WithCancel(r.Context())
		cancel()
		r = r.WithContext(ctx)
	}
	w := httptest.NewRecorder()
	i.ServeHTTP(w, r)
	return w
}

// call sends a request to a service route with the default key, or to an admin route.
func (i testInstance) call(method, path, body string) *httptest.ResponseRecorder {
	i.t.Helper()
	return i.callAs(fake.DefaultAPIKey, method, path, body)
}

func (i testInstance) callAs(key, method, path, body string) *httptest.ResponseRecorder {
	i.t.Helper()
	r := request(i.t, method, path, body)
	if !isAdmin(path) {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return i.send(r)
}

// object sends an admin request that must succeed with a JSON object.
func (i testInstance) object(method, path, body string) map[string]any {
	i.t.Helper()
	w := i.call(method, path, body)
	require.Lessf(i.t, w.Code, 300, "%s %s: %s", method, path, w.Body)
	require.Equal(i.t, "application/json", w.Header().Get("Content-Type"))
	var object map[string]any
	require.NoError(i.t, json.Unmarshal(w.Body.Bytes(), &object))
	return object
}

// testRoute is an admin route as the index lists it.
type testRoute struct{ Method, Path, About string }

// routes returns the admin routes.
func (i testInstance) routes() []testRoute {
	i.t.Helper()
	var index struct{ Routes []testRoute }
	require.NoError(i.t, json.Unmarshal(i.call("GET", "/_fake/", "").Body.Bytes(), &index))
	require.NotEmpty(i.t, index.Routes)
	return index.Routes
}

// list returns the objects of one field of an object.
func list(t *testing.T, object map[string]any, field string) []map[string]any {
	t.Helper()
	values, ok := object[field].([]any)
	require.Truef(t, ok, "%s is no list in %v", field, object)
	objects := make([]map[string]any, len(values))
	for i, v := range values {
		objects[i], ok = v.(map[string]any)
		require.True(t, ok)
	}
	return objects
}

// status sends a request and returns the status of its response.
func (i testInstance) status(method, path, body string) int {
	i.t.Helper()
	return i.call(method, path, body).Code
}

// output is where a running program writes. wrote gets what there is at each of the first writes.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	wrote chan string
}

func newOutput() *output { return &output{wrote: make(chan string, 100)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.text.Write(p)
	select {
	case o.wrote <- o.text.String():
	default: // nobody waits for that much
	}
	return n, err
}

// String returns what was written so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
