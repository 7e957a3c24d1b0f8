package fake_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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
			assert.Equal(t, want, look(t, viaURL(t, srv).client, srv.URL()), "over the port")
			if status := lastRequest(t, srv).StatusCode; name != "hijacked" && want != "no response" {
				assert.Equal(t, want[:3], fmt.Sprint(status), "in the journal")
			}
		})
	}
}
