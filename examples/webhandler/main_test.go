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

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	main()
	// Output:
	// GET /pets: 200  []
	// POST /pets: 201  {"id":1,"name":"Rex","categoryId":1}
	// GET /pets: 503 60 try again later
	// POST /admin/reopen: 204
}

// serve has a handler serve a request that its sender gives up after a time.
func serve(t *testing.T, handler http.Handler, patience time.Duration, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body)))
	return w
}

func TestVisitors_failures(t *testing.T) {
	for name, test := range map[string]struct {
		fault  fake.Fault
		body   string
		status int
		said   string
	}{
		"the outcome is unknown": {
			fake.Fault{Status: 503, RetryAfter: "30", AfterCommit: true},
			`{"name":"Rex","categoryId":1}`, 502, "look before you add it again",
		},
		"the key is banned":   {fake.Fault{Status: 429, RetryAfter: "3600"}, `{"name":"Rex","categoryId":1}`, 503, "try again later"},
		"the store is slow":   {fake.Fault{Delay: time.Minute}, `{"name":"Rex","categoryId":1}`, 502, "look before you add"},
		"the key is refused":  {fake.Fault{Status: 401}, `{"name":"Rex","categoryId":1}`, 502, "the pet store has a problem"},
		"the pet has no name": {fake.Fault{}, `{"categoryId":1}`, 400, "this is no pet"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				server := fake.NewTestServer(t)
				if test.status != 400 {
					server.Inject(test.fault)
				}
				routes := visitors(server.Client(), slog.New(slog.NewTextHandler(&log, nil)))
				w := serve(t, routes, time.Hour, "POST", "/pets", test.body)
				assert.Equal(t, test.status, w.Code)
				assert.Contains(t, w.Body.String(), test.said)
				assert.Equal(t, 1, strings.Count(log.String(), "\n"))
				assert.Regexp(t, `msg="pet store call failed" error.operation=createPet .* error.error="petstore: createPet: `, log.String())
			})
		})
	}
}

func TestVisitors_hangUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := fake.NewTestServer(t, fake.WithLatency(time.Minute))
		assert.Equal(t, 504, serve(t, visitors(slow.Client(), slog.New(slog.DiscardHandler)), time.Hour, "GET", "/pets", "").Code)
		server := fake.NewTestServer(t, fake.WithLatency(time.Second), fake.WithStrict())
		client := server.Client()
		assert.Equal(t, 502, serve(t, visitors(client, slog.New(slog.DiscardHandler)), time.Millisecond, "GET", "/pets", "").Code)
		w := serve(t, visitors(client, slog.New(slog.DiscardHandler)), time.Millisecond, "POST", "/pets", `{"name":"Rex","categoryId":1}`)
		assert.Equal(t, 201, w.Code, "the create goes on")
	})
}

func TestReopen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t)
		server.Inject(fake.Fault{Operation: petstore.OpListPets, Status: 429, RetryAfter: "3600"}) // a ban that is lifted
		client := server.Client()
		get := func() int {
			return serve(t, visitors(client, slog.New(slog.DiscardHandler)), time.Hour, "GET", "/pets", "").Code
		}
		assert.Equal(t, 503, get())
		assert.Equal(t, 503, get())
		serve(t, reopen(client), time.Hour, "POST", "/admin/reopen", "")
		assert.Equal(t, 200, get())
	})
}
