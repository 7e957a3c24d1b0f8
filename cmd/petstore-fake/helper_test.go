package main

import (
	"bytes"
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
	s, err := readSettings(args, envOf(nil))
	require.NoError(t, err)
	stderr := newOutput()
	i := newInstance(s, stderr)
	t.Cleanup(i.srv.Close)
	return testInstance{t, i, stderr}
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

// call sends a request with a key. Admin routes do not look at it.
func (i testInstance) call(key, method, path, body string) *httptest.ResponseRecorder {
	i.t.Helper()
	r := request(i.t, method, path, body)
	r.Header.Set("Authorization", "Bearer "+key)
	return i.send(r)
}

// step matches a line of a script: perhaps a key, a method, a path, perhaps a body; an arrow, the
// expected status, and perhaps a pattern of the response's body.
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
		key, path := found[1], found[3]
		if key == "" {
			key = fake.DefaultAPIKey
		}
		w := i.call(key, found[2], path, found[4])
		assert.Equal(i.t, found[5], strconv.Itoa(w.Code), "%s: %s", line, w.Body)
		assert.Regexp(i.t, "(?s)"+found[6], w.Body.String(), line)
		if strings.HasPrefix(path, "/_fake/") && w.Code >= 400 {
			assert.Contains(i.t, w.Body.String(), `{"error":"`, line)
		}
	}
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
