package chaos

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/link"
)

// baseURL is the base URL of the service.
const baseURL = "http://localhost/v1"

// dial returns a transport to the service in memory, and what closes it. The protocol "memory" is
// that of the fake's own clients, which dial for each request; other connections are kept alive.
func dial(srv *fake.Server, protocol string) (http.RoundTripper, func()) {
	if protocol == "memory" {
		return srv.HTTPClient().Transport, func() {}
	}
	var protocols http.Protocols
	protocols.SetHTTP1(protocol == "HTTP/1.1")
	protocols.SetUnencryptedHTTP2(protocol == "HTTP/2")
	hs := &http.Server{
		Handler: srv, Protocols: &protocols,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	tr := &http.Transport{Protocols: &protocols, MaxIdleConnsPerHost: 16}
	tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
		made := link.New(func(*link.Link) {})
		link.Serve(made.Server, hs)
		return made.Client, nil
	}
	return tr, func() {
		tr.CloseIdleConnections()
		_ = hs.Close()
	}
}

// request is one request on the wire, with its response.
type request struct {
	at        time.Time
	kind      *kind
	dialled   atomic.Bool // the transport asked for a connection
	connected atomic.Bool // the transport got a connection
	status    int
	err       error
	read      int64 // number of bytes of the body that were read
	whole     bool  // the body was read to its end
}

// untouched reports whether certainly nothing of the request was written.
func (q *request) untouched() bool {
	failed, ok := errors.AsType[*net.OpError](q.err)
	return ok && failed.Op == "dial" || q.err != nil && q.dialled.Load() && !q.connected.Load()
}

// recorder is the transport below the client: it records each request, and sets the header that
// selects its failure.
type recorder struct {
	base   http.RoundTripper
	report *report
}

// RoundTrip records and sends a request.
func (w *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	w.inspect(r)
	c := r.Context().Value(callKey{}).(*call)
	c.mu.Lock()
	q := &request{at: time.Now(), kind: plain}
	if n := len(c.requests); n < len(c.kinds) {
		q.kind = c.kinds[n]
	}
	c.requests = append(c.requests, q)
	c.mu.Unlock()
	passed := r.Clone(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GetConn: func(string) { q.dialled.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { q.connected.Store(true) },
	}))
	passed.Header.Set(kindHeader, q.kind.name)
	resp, err := w.base.RoundTrip(passed)
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.err = err; err != nil {
		return nil, err
	}
	q.status = resp.StatusCode
	w.report.bodies.Add(1)
	resp.Body = &watched{resp.Body, func(n int, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		q.read += int64(n)
		q.whole = q.whole || errors.Is(err, io.EOF) || q.read == resp.ContentLength
	}, sync.OnceFunc(func() { w.report.bodies.Add(-1) })}
	return resp, nil
}

// inspect checks that the key is in the Authorization header, for the base URL's origin only, and
// nowhere else.
func (w *recorder) inspect(r *http.Request) {
	if !strings.HasPrefix(r.URL.String(), baseURL+"/") || r.Host != "" && r.Host != r.URL.Host {
		w.report.found("key", "a request went to %s for %q", r.URL.Host, r.Host)
	}
	if got := r.Header["Authorization"]; !slices.Equal(got, []string{"Bearer " + key}) {
		w.report.found("key", "%d values of Authorization, or not the key", len(got))
	}
	w.report.searchKey("a URL", r.URL.String())
	for name, values := range r.Header {
		if name != "Authorization" {
			w.report.searchKey("a header", name+strings.Join(values, "\n"))
		}
	}
}

// watched is a body that reports what was read, and that it was closed.
type watched struct {
	io.ReadCloser
	read   func(n int, err error)
	closed func()
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read(n, err)
	return n, err
}

func (b *watched) Close() error {
	b.closed()
	return b.ReadCloser.Close()
}
