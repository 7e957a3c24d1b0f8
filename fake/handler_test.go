package fake_test

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

func TestWithHandler(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header()["X-Seen"] = []string{"a", "b"}
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.PathValue("id"), body)
	})
	gone := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	throughEveryEntryPoint(t, "is served like an operation", func(t *testing.T, srv server) {
		put := request{method: "PUT", path: "/orders/7?a=b", body: "one"}
		for i := range 2 {
			r := srv.send(t, put)
			assert.Equal(t, 202, r.status)
			assert.Equal(t, "PUT 7 one", r.body)
			assert.Equal(t, []string{"a", "b"}, r.header["X-Seen"])
			assert.Equal(t, strconv.Itoa(59-i), r.header.Get("X-RateLimit-Remaining"))
			assert.Equal(t, i > 0, r.header.Get("X-More") != "", "a fault changes the second response")
			assert.Empty(t, srv.last(t).Operation)
			assert.Equal(t, "PUT 7 one", string(srv.last(t).ResponseBody))
			srv.Inject(fake.Fault{Header: http.Header{"X-More": {"1"}}})
		}
		srv.Reset()
		assert.Equal(t, 401, srv.send(t, request{method: "PUT", path: "/orders/7", auth: "none"}).status)
		assert.Equal(t, 202, srv.send(t, request{method: "NOSUCH", path: "/pets/1"}).status)
		assert.Equal(t, 200, srv.send(t, request{path: "/pets/1"}).status)
		for _, path := range []string{"/orders", "/orders//7", "/x/../orders/7"} {
			r := srv.send(t, request{method: "PUT", path: path})
			assert.Equal(t, 404, r.status, path)
			assert.Contains(t, r.body, "those of section 4 begin with /v1/pets")
		}
		r := srv.send(t, request{method: "DELETE", path: "/orders/7"})
		assert.Equal(t, 204, r.status)
		assert.NotContains(t, r.header, "Content-Length")
	}, fake.WithPlan(fake.PlanFree), fake.WithPets(catalogue(1)...),
		fake.WithHandler("DELETE /v1/orders/{id}", gone), fake.WithHandler("PUT /v1/orders/{id}", echo),
		fake.WithHandler("NOSUCH /v1/pets/{petId}", echo))
	t.Run("a panic breaks the connection, and fails the test unless it is http.ErrAbortHandler", func(t *testing.T) {
		for value, fails := range map[any]bool{http.ErrAbortHandler: false, "oh no": true} {
			tb := &recorder{}
			panics := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(value) })
			srv := open(tb, fake.WithHandler("GET /v1/x", panics))
			_, err := srv.try(t, request{path: "/x"})
			assert.ErrorIs(t, err, io.EOF)
			assert.Equal(t, "#1 GET /v1/x → no response: Match or the handler panicked", srv.last(t).String())
			tb.end()
			assert.Equal(t, fails, strings.Contains(tb.errors.String(), fmt.Sprint("the handling of a request panicked: ", value)))
		}
	})
}

// handlers do unusual things. With WithHandler, they must do the same as in net/http.
var handlers = map[string]struct {
	status int // in the journal
	serve  http.HandlerFunc
}{
	"the request": {200, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintln(w, r.Method, r.RequestURI, r.URL, r.Header["Range"], r.ContentLength, string(body))
	}},
	"103 before 202, a header and a status too late, a trailer": {202, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		w.Header().Set("X-Late", "1")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{}`)
		w.(http.Flusher).Flush() // now the body has no known length, and may have a trailer
		w.Header().Set(http.TrailerPrefix+"X-Sum", "abc")
	}},
	"nothing": {200, func(http.ResponseWriter, *http.Request) {}},
	"a body that is shorter than its Content-Length": {200, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "{}")
	}},
	"ResponseController": {200, func(w http.ResponseWriter, _ *http.Request) {
		c := http.NewResponseController(w)
		_, _ = fmt.Fprint(w, c.Flush(), c.SetWriteDeadline(time.Now().Add(time.Minute)), c.EnableFullDuplex())
	}},
	"hijacked": {101, func(w http.ResponseWriter, _ *http.Request) {
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 299 OK\r\nContent-Length: 2\r\n\r\n{}")
			_ = c.Close()
		}
	}},
	"aborted midway": {200, func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}},
	"io.Copy of a long body": {200, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.Copy(w, strings.NewReader(strings.Repeat("long ", 100_000)))
	}},
}

// look sends a request, and describes what a client sees of the response.
func look(t *testing.T, c *http.Client, base string) string {
	header := http.Header{"Range": {"bytes=2-3"}}
	resp, err := c.Do(request{path: "/x?a=b", header: header, method: "PUT", body: "one"}.build(t, base))
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	h := resp.Header
	return fmt.Sprint(resp.StatusCode, h["Content-Type"], h["Content-Length"], resp.TransferEncoding, h["X-Late"],
		h["Link"], resp.Trailer, len(body), string(body[:min(len(body), 100)]), err)
}

func TestWithHandler_isNetHTTP(t *testing.T) {
	testkit.Loopback(t)
	for name, c := range handlers {
		t.Run(name, func(t *testing.T) {
			real := httptest.NewUnstartedServer(c.serve)
			real.Config.ErrorLog = log.New(io.Discard, "", 0)
			real.Start()
			defer real.Close()
			srv := open(t, fake.WithHandler("/v1/x", c.serve))
			want := look(t, real.Client(), real.URL+"/v1")
			assert.Equal(t, want, look(t, srv.client, srv.base), "in memory")
			assert.Equal(t, want, look(t, overLoopback(t, srv.Server).client, srv.URL()), "over the port")
			last := srv.last(t)
			assert.Equal(t, c.status, last.StatusCode, "in the journal")
			assert.Empty(t, last.ResponseHeader["X-Late"], "in the journal")
			assert.LessOrEqual(t, len(last.ResponseBody), 64<<10, "the journal keeps no more")
		})
	}
}

func TestWithHandler_streams(t *testing.T) {
	events := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range 3 {
			time.Sleep(time.Hour)
			fmt.Fprintln(w, i)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	})
	inBubble(t, "until the client gives up", func(t *testing.T, srv server) {
		start := time.Now()
		resp, err := srv.client.Do(request{path: "/events"}.build(t, srv.base))
		require.NoError(t, err)
		lines := bufio.NewScanner(resp.Body)
		for i := range 3 {
			assert.True(t, lines.Scan())
			assert.Equal(t, time.Duration(i+1)*time.Hour, time.Since(start))
			assert.Len(t, srv.last(t).ResponseBody, 2*(i+1), "the journal has it before the client")
			assert.Equal(t, time.Hour, srv.last(t).Duration, "until the response began")
		}
		assert.NoError(t, resp.Body.Close())
	}, fake.WithHandler("GET /v1/events", events))
}
