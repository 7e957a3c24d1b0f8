package chaos

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/link"
)

// entryPoint is a way to reach the service. open returns a transport to it, and what closes it.
type entryPoint struct {
	name    string
	baseURL string
	open    func(*fake.Server, *report) (http.RoundTripper, func())
}

// entryPoints are the fake's own entry points in memory, and links, which are kept alive and may
// use TLS and HTTP/2.
var entryPoints = []entryPoint{
	{"memory", "http://localhost/v1", func(srv *fake.Server, _ *report) (http.RoundTripper, func()) {
		return srv.HTTPClient().Transport, func() {}
	}},
	{"HTTP/1.1", "http://localhost/v1", links(false, false)},
	{"HTTP/1.1 over TLS", "https://example.com/v1", links(true, false)},
	{"HTTP/2", "https://example.com/v1", links(true, true)},
}

// links serves links with net/http, and returns a transport to them, whose connections are kept
// alive.
func links(secure, http2 bool) func(*fake.Server, *report) (http.RoundTripper, func()) {
	return func(srv *fake.Server, r *report) (http.RoundTripper, func()) {
		l := &linkListener{conns: make(chan net.Conn), closed: make(chan struct{})}
		hs := &httptest.Server{
			Listener: l, EnableHTTP2: http2,
			Config: &http.Server{Handler: srv, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)},
		}
		start := hs.Start
		if secure {
			start = hs.StartTLS
		}
		start()
		tr := hs.Client().Transport.(*http.Transport)
		tr.MaxIdleConnsPerHost = 16
		tr.DialContext = l.dial
		return tr, func() {
			for end := time.Now().Add(5 * time.Second); l.open.Load() > 0 && time.Now().Before(end); {
				tr.CloseIdleConnections() // done again each time, because a stream of HTTP/2 may end a little later
				sleep(time.Millisecond)
			}
			if n := l.open.Load(); n > 0 {
				r.found("connection", "%d are open after the last call", n)
			}
			hs.CloseClientConnections()
			hs.Close()
		}
	}
}

// linkListener accepts connections in memory, and counts those that are open.
type linkListener struct {
	conns  chan net.Conn
	open   atomic.Int64
	closed chan struct{}
	once   sync.Once
}

func (l *linkListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	made := link.New(func(*link.Link) { l.open.Add(-1) })
	select {
	case l.conns <- made.Server:
		l.open.Add(1)
		return made.Client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *linkListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *linkListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *linkListener) Addr() net.Addr { return link.ServerAddress }

// request is one request on the wire, with its response.
type request struct {
	at        time.Time
	kind      *kind
	dialled   atomic.Bool // the transport asked for a connection
	connected atomic.Bool // the transport got a connection
	status    int
	err       error
	body      []byte
	whole     bool // the body was read to its end
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
	origin string // scheme, host and port that may get the key
	report *report
	bodies atomic.Int64 // number of bodies that are not closed yet
}

// RoundTrip records and sends a request.
func (w *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	w.inspect(r)
	c := r.Context().Value(callKey{}).(*call)
	q := c.sends()
	passed := r.Clone(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GetConn: func(string) { q.dialled.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { q.connected.Store(true) },
	}))
	passed.Header.Set(kindHeader, q.kind.name)
	if r.Body != nil {
		passed.Body = watched{r.Body, func(p []byte, _ error) { w.report.searchKey("a body", string(p)) }, func() {}}
	}
	resp, err := w.base.RoundTrip(passed)
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.err = err; err != nil {
		return nil, err
	}
	q.status = resp.StatusCode
	w.bodies.Add(1)
	length := resp.ContentLength
	resp.Body = watched{resp.Body, func(p []byte, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		q.body = append(q.body, p...)
		q.whole = q.whole || errors.Is(err, io.EOF) || int64(len(q.body)) == length
	}, sync.OnceFunc(func() { w.bodies.Add(-1) })}
	return resp, nil
}

// sends records the call's next request.
func (c *call) sends() *request {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := &request{at: time.Now(), kind: plain}
	if n := len(c.requests); n < len(c.kinds) {
		q.kind = c.kinds[n]
	}
	c.requests = append(c.requests, q)
	return q
}

// inspect checks that the key is in the Authorization header, for the origin only, and nowhere
// else.
func (w *recorder) inspect(r *http.Request) {
	if origin := r.URL.Scheme + "://" + r.URL.Host; origin != w.origin || r.Host != "" && r.Host != r.URL.Host {
		w.report.found("key", "a request went to %s for %q", origin, r.Host)
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
	read   func([]byte, error)
	closed func()
}

func (b watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read(p[:n], err)
	return n, err
}

func (b watched) Close() error {
	b.closed()
	return b.ReadCloser.Close()
}

// logCheck is the writer of a log; it looks for the key in each line.
type logCheck struct{ report *report }

func (e logCheck) Write(p []byte) (int, error) {
	e.report.searchKey("the log", string(p))
	return len(p), nil
}
