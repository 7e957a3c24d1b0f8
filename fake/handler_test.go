package fake_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

func TestWithHandler(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header()["X-Seen"] = []string{"a", "b"}
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.PathValue("id"), body)
	})
	opts := with(fake.WithPlan(fake.PlanFree), fake.WithPets(catalogue(1)...),
		fake.WithHandler("PUT /v1/orders/{id}", echo), fake.WithHandler("NOSUCH /v1/pets/{petId}", echo))
	throughEveryEntryPoint(t, "is served like an operation", opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
		put := request{method: "PUT", path: "/orders/7?a=b", body: "one"}
		for i := range 2 {
			r := d.send(t, put)
			assert.Equal(t, 202, r.status)
			assert.Equal(t, "PUT 7 one", r.body)
			assert.Equal(t, []string{"a", "b"}, r.header["X-Seen"])
			assert.Equal(t, strconv.Itoa(59-i), r.header.Get("X-RateLimit-Remaining"))
			assert.Equal(t, i > 0, r.header.Get("X-More") != "", "a fault changes the second response")
			assert.Empty(t, lastRequest(t, srv).Operation)
			assert.Equal(t, "PUT 7 one", string(lastRequest(t, srv).ResponseBody))
			srv.Inject(fake.Fault{Header: http.Header{"X-More": {"1"}}})
		}
		srv.Reset()
		assert.Equal(t, 401, d.send(t, request{method: "PUT", path: "/orders/7", auth: "-"}).status)
		srv.Inject(fake.Fault{Status: 503})
		assert.Equal(t, 503, d.send(t, put).status)
		large := request{method: "PUT", path: "/orders/7", body: strings.Repeat("x", 1<<20+1)}
		assert.Equal(t, 400, d.send(t, large).status)
		assert.Equal(t, 202, d.send(t, request{method: "NOSUCH", path: "/pets/1"}).status)
		assert.Equal(t, 200, d.send(t, request{path: "/pets/1"}).status)
		for _, path := range []string{"/orders", "/orders//7", "/x/../orders/7"} {
			r := d.send(t, request{method: "PUT", path: path})
			assert.Equal(t, 404, r.status, path)
			assert.Contains(t, r.body, "it has /v1/orders/{id}, /v1/pets, /v1/pets/{petId} (section 4)")
		}
		srv.BanKey(srv.APIKey(), time.Hour)
		assert.Equal(t, 429, d.send(t, put).status)
	})
	t.Run("a panic breaks the connection, and fails the test unless it is http.ErrAbortHandler", func(t *testing.T) {
		for value, fails := range map[any]bool{http.ErrAbortHandler: false, "oh no": true} {
			tb := &recorder{}
			panics := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(value) })
			srv, d := open(tb, fake.WithHandler("GET /v1/x", panics))
			_, err := d.try(t, request{path: "/x"})
			assert.ErrorIs(t, err, io.EOF)
			assert.Equal(t, "#1 GET /v1/x → no response: the handler aborted the response", lastRequest(t, srv).String())
			tb.end()
			assert.Equal(t, fails, strings.Contains(tb.errors.String(), "the handling of a request panicked: oh no"))
		}
	})
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		status  int
		body    string
		journal int // bytes of the body there
	}{
		"nothing": {handler: func(http.ResponseWriter, *http.Request) {}, status: 200},
		"all of net/http": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			assert.NoError(t, http.NewResponseController(w).EnableFullDuplex())
			w.WriteHeader(http.StatusAccepted)
			w.Header().Set("X-Late", "1")
			_, _ = io.WriteString(w, strings.Repeat("long ", 100_000))
		}, status: 202, body: strings.Repeat("long ", 100_000), journal: 64 << 10},
		"a connection of its own": {handler: func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			assert.NoError(t, err)
			_, _ = io.WriteString(c, "HTTP/1.1 299 OK\r\nContent-Length: 2\r\n\r\n{}")
			_ = c.Close()
		}, status: 299, body: "{}"},
	} {
		opts := with(fake.WithHandler("GET /v1/x", c.handler))
		throughEveryEntryPoint(t, "may write "+name, opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
			r := d.send(t, request{path: "/x"})
			assert.Equal(t, c.status, r.status)
			assert.Equal(t, c.body, r.body)
			assert.Empty(t, r.header["X-Late"])
			assert.Len(t, lastRequest(t, srv).ResponseBody, c.journal)
			assert.Empty(t, lastRequest(t, srv).ResponseHeader["X-Late"])
			assert.Contains(t, []int{c.status, http.StatusSwitchingProtocols}, lastRequest(t, srv).StatusCode)
		})
	}
	events := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range 3 {
			fmt.Fprintln(w, i)
			w.(http.Flusher).Flush()
			time.Sleep(time.Hour)
		}
	})
	inBubble(t, "streams", with(fake.WithHandler("GET /v1/events", events)), func(t *testing.T, srv *fake.Server, d entryPoint) {
		start := time.Now()
		resp, err := d.client.Do(request{path: "/events"}.build(t, d.base))
		require.NoError(t, err)
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		for i := range 3 {
			assert.True(t, lines.Scan())
			assert.Equal(t, time.Duration(i)*time.Hour, time.Since(start))
			assert.Len(t, lastRequest(t, srv).ResponseBody, 2*(i+1), "the journal has it before the client")
			assert.Zero(t, lastRequest(t, srv).Duration, "until the response began")
		}
		assert.False(t, lines.Scan())
	})
	t.Run("refuses what would never be called", func(t *testing.T) {
		for pattern, message := range map[string]string{
			"GET /v1/pets/{id}": "conflicts with pattern",
			"GET /orders":       `fake: WithHandler: the path of the pattern "GET /orders" is not below /v1/`,
			"GET /v1/{":         "parsing",
		} {
			assert.Contains(t, panicOf(func() { fake.WithHandler(pattern, echo) }), message, pattern)
		}
		twice := fake.WithHandler("GET /v1/orders", echo)
		assert.Contains(t, panicOf(func() { fake.NewServer(twice, twice) }), "conflicts with pattern")
	})
}
