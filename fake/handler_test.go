package fake_test

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

// handlers do what handlers may do. net/http and WithHandler must show the same of them.
var handlers = map[string]http.HandlerFunc{
	"header set after WriteHeader": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.Header().Set("X-Late", "1")
		_, _ = io.WriteString(w, `{}`)
	},
	"header set after the first Write": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{}`)
		w.Header().Set("X-Late", "1")
	},
	"103 before 200": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`)
	},
	"content that net/http sniffs": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `<html>`) },
	"trailers": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, `{}`)
		w.Header().Set("X-Sum", "abc")
		w.Header().Set(http.TrailerPrefix+"X-Other", "def")
	},
	"Content-Length longer than the body": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{}`)
	},
	"Content-Length shorter than the body": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1")
		_, err := io.WriteString(w, `{}`)
		w.Header().Set("X-Late", fmt.Sprint(err))
	},
	"second WriteHeader": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(http.StatusInternalServerError)
	},
	"body with 204": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		_, _ = io.WriteString(w, `{}`)
	},
	"nothing": func(http.ResponseWriter, *http.Request) {},
	"http.Flusher": func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, `{}`)
	},
	"ResponseController": func(w http.ResponseWriter, _ *http.Request) {
		c := http.NewResponseController(w)
		_, _ = fmt.Fprint(w, c.Flush(), c.SetWriteDeadline(time.Now().Add(time.Minute)), c.EnableFullDuplex())
	},
	"hijacked": func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 299 OK\r\nContent-Length: 2\r\n\r\n{}")
			_ = c.Close()
		}
	},
	"aborted at once": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"aborted midway":  func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); panic(http.ErrAbortHandler) },
	"http.Error":      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusConflict) },
	"http.ServeContent": func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "a.json", time.Unix(1, 0), strings.NewReader(strings.Repeat("0123456789", 1000)))
	},
	"http.TimeoutHandler": http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}), time.Millisecond, "too late").ServeHTTP,
	"io.Copy of a long body": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.Copy(w, strings.NewReader(strings.Repeat("long ", 100_000)))
	},
}

// look describes what a client sees of a response.
func look(t *testing.T, c *http.Client, url string) string {
	req := request{path: "/x", header: http.Header{"Range": {"bytes=2-3"}}}.build(t, url)
	resp, err := c.Do(req)
	if err != nil {
		return "no response"
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	h := resp.Header
	return fmt.Sprint(resp.StatusCode, h["Content-Type"], h["Content-Length"], resp.TransferEncoding, h["X-Late"], h["Link"],
		resp.Trailer, len(body), string(body[:min(len(body), 100)]), err)
}

func TestWithHandlerIsNetHTTP(t *testing.T) {
	testkit.Loopback(t)
	for name, h := range handlers {
		t.Run(name, func(t *testing.T) {
			real := httptest.NewUnstartedServer(h)
			real.Config.ErrorLog = log.New(io.Discard, "", 0)
			real.Start()
			defer real.Close()
			srv := fake.NewTestServer(t, fake.WithHandler("GET /v1/x", h))
			want := look(t, real.Client(), real.URL)
			assert.Equal(t, want, look(t, srv.HTTPClient(), "https://fake/v1"), "in memory")
			assert.Equal(t, want, look(t, socketClient(t), srv.URL()), "over the port")
			if status := lastRequest(t, srv).StatusCode; name != "hijacked" && want != "no response" {
				assert.Equal(t, want[:3], fmt.Sprint(status), "in the journal")
			}
		})
	}
}

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
		for range 2 { // the second time, a fault changes the response
			r := d.send(t, put)
			assert.Equal(t, 202, r.status)
			assert.Equal(t, "PUT 7 one", r.body)
			assert.Equal(t, []string{"a", "b"}, r.header["X-Seen"])
			assert.Equal(t, fmt.Sprint(60-len(srv.Requests())), r.header.Get("X-RateLimit-Remaining"))
			last := lastRequest(t, srv)
			assert.Empty(t, last.Operation)
			assert.Equal(t, "PUT 7 one", string(last.ResponseBody))
			if last.Seq == 1 {
				srv.Inject(fake.Fault{Header: http.Header{"X-More": {"1"}}})
			} else {
				assert.Equal(t, "1", r.header.Get("X-More"))
			}
		}
		assert.Equal(t, 401, d.send(t, request{method: "PUT", path: "/orders/7", auth: "-"}).status)
		srv.Inject(fake.Fault{Status: 503})
		assert.Equal(t, 503, d.send(t, put).status)
		large := request{method: "PUT", path: "/orders/7", body: strings.Repeat("x", 1<<20+1)}
		assert.Equal(t, 400, d.send(t, large).status)
		for status, q := range map[int]request{ // what the handlers do not take works as before
			202: {method: "NOSUCH", path: "/pets/1"}, 200: {path: "/pets/1"}, 201: create("Mia"), 405: {method: "HEAD", path: "/pets"},
		} {
			assert.Equal(t, status, d.send(t, q).status)
		}
		for _, path := range []string{"/orders", "/orders/", "/orders//7", "/./orders/7", "/x/../orders/7"} {
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
			srv := fake.NewTestServer(tb, fake.WithHandler("GET /v1/x", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(value) })))
			_, err := viaMemory(t, srv).try(t, request{path: "/x"})
			assert.ErrorIs(t, err, io.EOF)
			assert.Equal(t, "#1 GET /v1/x → no response: the handler aborted the response", lastRequest(t, srv).String())
			tb.end()
			assert.Equal(t, fails, strings.Contains(tb.errors.String(), "the handling of a request panicked: oh no"))
		}
	})
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
			"GET /v1/pets":       "conflicts with pattern",
			"GET /v1/pets/{id}":  "conflicts with pattern",
			"GET /orders":        `fake: WithHandler: the path of the pattern "GET /orders" is not below /v1/`,
			"GET host.test/v1/a": "is not below /v1/",
			"GET /v1/{":          "parsing",
			"":                   "is not below /v1/",
		} {
			assert.Contains(t, panicOf(func() { fake.WithHandler(pattern, echo) }), message, pattern)
		}
		twice := fake.WithHandler("GET /v1/orders", echo)
		assert.Contains(t, panicOf(func() { fake.NewServer(twice, twice) }), "conflicts with pattern")
	})
}
