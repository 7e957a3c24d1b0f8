package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const rex = `{"name":"Rex","categoryId":1}`

// visitor sends a request of a visitor who waits no longer than patience, and returns the response.
func visitor(t *testing.T, h http.Handler, patience time.Duration, method, body string) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	defer time.AfterFunc(patience, cancel).Stop()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, "/pets", strings.NewReader(body)))
	return w
}

func TestVisitors_input(t *testing.T) {
	server := fake.NewTestServer(t)
	routes := visitors(server.Client(), slog.New(slog.DiscardHandler))
	for body, reason := range map[string]string{
		`{"name":"Rex"}`:                         "name and categoryId are required",
		`{"name":"Rex","categoryId":null}`:       "name and categoryId are required",
		``:                                       "not one pet as JSON",
		`{"name":"Rex","category":1}`:            "not one pet as JSON",
		rex + rex:                                "not one pet as JSON",
		`{"name":"` + strings.Repeat("x", 1<<16): "not one pet as JSON",
		`{"name":"","categoryId":1}`:             "this is no pet",
	} {
		w := visitor(t, routes, time.Hour, "POST", body)
		assert.Equal(t, http.StatusBadRequest, w.Code, body)
		assert.Contains(t, w.Body.String(), reason, body)
	}
	assert.Empty(t, server.Requests())
	assert.Equal(t, "[]\n", visitor(t, routes, time.Hour, "GET", "").Body.String(), "not null")
	zero := `{"name":"Rex","categoryId":0}` // 0 is a category
	assert.Equal(t, http.StatusCreated, visitor(t, routes, time.Hour, "POST", zero).Code)
}

func TestVisitors_failure(t *testing.T) {
	const look, problem = "look before you add it again", "the pet store has a problem"
	for name, test := range map[string]struct {
		fault      fake.Fault
		method     string
		status     int
		retryAfter string
		text       string
		after      time.Duration // how long the call takes
	}{
		"unknown outcome": {fake.Fault{Wire: fake.WireReset, AfterCommit: true}, "POST", 502, "", look, 0},
		"503 to a list":   {fake.Fault{Status: 503, RetryAfter: "30"}, "GET", 503, "30", "try again later", 0},
		"429 to a create": {fake.Fault{Status: 429, RetryAfter: "5"}, "POST", 503, "5", "try again later", 0},
		"400":             {fake.Fault{Status: 400}, "POST", 400, "", "the pet store refuses this pet", 0},
		"401":             {fake.Fault{Status: 401}, "GET", 502, "", problem, 0},
		"slow create":     {fake.Fault{Delay: time.Minute}, "POST", 502, "", look, 10 * time.Second},
		"slow list":       {fake.Fault{Delay: time.Minute}, "GET", 504, "", "the pet store is slow", 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
				var log bytes.Buffer
				server.Inject(test.fault)
				start := time.Now()
				w := visitor(t, visitors(server.Client(), slog.New(slog.NewTextHandler(&log, nil))), time.Hour, test.method, rex)
				assert.Equal(t, test.status, w.Code)
				assert.Equal(t, test.retryAfter, w.Header().Get("Retry-After"))
				assert.Contains(t, w.Body.String(), test.text)
				assert.Equal(t, test.after, time.Since(start))
				assert.Equal(t, 1, strings.Count(log.String(), "\n"), "it is logged once")
				assert.Contains(t, log.String(), "call_id=")
			}, fake.WithStrict())
		})
	}
}

// Before the first response of the service, the client sends only one request a second. A call with
// WithMaxWait(0) that gets no permit within a second fails.
func TestVisitors_slowStart(t *testing.T) {
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		routes := visitors(server.Client(), slog.New(slog.DiscardHandler))
		for range 2 {
			go visitor(t, routes, time.Hour, "POST", rex)
			synctest.Wait()
		}
		start := time.Now()
		w := visitor(t, routes, time.Hour, "POST", rex)
		assert.Equal(t, time.Second, time.Since(start))
		assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		assert.Equal(t, "try again later\n", w.Body.String())
		time.Sleep(time.Minute) // the first two calls end
	}, fake.WithLatency(5*time.Second))
}

func TestVisitors_disconnect(t *testing.T) {
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		var log bytes.Buffer
		routes := visitors(server.Client(), slog.New(slog.NewTextHandler(&log, nil)))
		start := time.Now()
		visitor(t, routes, time.Millisecond, "GET", "")
		assert.Equal(t, time.Millisecond, time.Since(start), "the list ends with its visitor")
		visitor(t, routes, time.Millisecond, "POST", rex)
		assert.Len(t, server.Pets(), 1, "the create goes on")
		assert.Empty(t, log.String())
	}, fake.WithLatency(time.Second))
}
