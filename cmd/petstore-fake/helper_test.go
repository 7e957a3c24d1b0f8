package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

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
	t.Cleanup(i.srv.Close)
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

func (i testInstance) send(r *http.Request) *httptest.ResponseRecorder {
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

// step matches a line of a script. Before the arrow it has a method and a path, perhaps with a key
// before and a body after them; then the expected status, perhaps with a pattern of the response's
// body.
var step = regexp.MustCompile(`^(?:([a-z]\S+) )?([A-Z]+) (\S+) ?(.*?) => (\d+)(?: (.*))?$`)

// script sends a request for each line that is not empty, and compares the responses. Refusals of
// admin routes are JSON with a reason.
func (i testInstance) script(lines string) {
	i.t.Helper()
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		found := step.FindStringSubmatch(line)
		require.NotNil(i.t, found, line)
		key, method, path, body, status, pattern := found[1], found[2], found[3], found[4], found[5], found[6]
		if key == "" {
			key = fake.DefaultAPIKey
		}
		w := i.callAs(key, method, path, body)
		assert.Equal(i.t, status, strconv.Itoa(w.Code), "%s: %s", line, w.Body)
		assert.Regexp(i.t, pattern, w.Body.String(), line)
		if isAdmin(path) && w.Code >= 400 {
			assert.Equal(i.t, "application/json", w.Header().Get("Content-Type"))
			assert.Contains(i.t, w.Body.String(), `{"error":"`, line)
		}
	}
}

func (i testInstance) routes() []struct{ Method, Path string } {
	i.t.Helper()
	var index struct {
		Routes []struct{ Method, Path string }
	}
	require.NoError(i.t, json.Unmarshal(i.call("GET", "/_fake/", "").Body.Bytes(), &index))
	require.NotEmpty(i.t, index.Routes)
	return index.Routes
}

// output is where a running program writes. wrote receives the whole text after each of the first
// writes.
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
	default: // no test reads that many
	}
	return n, err
}

// String returns what was written so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
