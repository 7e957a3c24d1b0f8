package chaos

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/link"
)

// entryPoint is a way to reach the service.
type entryPoint struct {
	name    string
	baseURL string
	real    bool // real sockets and real time
	open    func(*fake.Server, *report) (http.RoundTripper, func())
}

// inMemory returns the entry points for virtual time: the fake's own two, and links that are kept
// alive and may use TLS and HTTP/2.
func inMemory() []entryPoint {
	return []entryPoint{
		{name: "memory", baseURL: "http://localhost/v1", open: memory},
		{name: "direct", baseURL: "https://service.test/v1", open: direct},
		{name: "HTTP/1.1", baseURL: "http://localhost/v1", open: links(false, false)},
		{name: "HTTP/1.1 over TLS", baseURL: "https://example.com/v1", open: links(true, false)},
		{name: "HTTP/2", baseURL: "https://example.com/v1", open: links(true, true)},
	}
}

// onSockets returns the entry points on loopback ports.
func onSockets() []entryPoint {
	return []entryPoint{
		{name: "HTTP/1.1", baseURL: "http://localhost/v1", real: true, open: ports(false, false)},
		{name: "HTTP/1.1 over TLS", baseURL: "https://example.com/v1", real: true, open: ports(true, false)},
		{name: "HTTP/2", baseURL: "https://example.com/v1", real: true, open: ports(true, true)},
	}
}

func memory(srv *fake.Server, _ *report) (http.RoundTripper, func()) {
	return srv.HTTPClient().Transport, func() {}
}

func direct(srv *fake.Server, _ *report) (http.RoundTripper, func()) {
	return srv.Transport(), func() {}
}

func links(secure, http2 bool) func(*fake.Server, *report) (http.RoundTripper, func()) {
	return func(srv *fake.Server, r *report) (http.RoundTripper, func()) {
		l := &linkListener{conns: make(chan net.Conn), closed: make(chan struct{})}
		return serve(srv, r, l, l.dial, secure, http2)
	}
}

func ports(secure, http2 bool) func(*fake.Server, *report) (http.RoundTripper, func()) {
	return func(srv *fake.Server, r *report) (http.RoundTripper, func()) {
		l := httptest.NewUnstartedServer(nil).Listener // on a loopback port
		dial := func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
		}
		return serve(srv, r, l, dial, secure, http2)
	}
}

// serve serves l with net/http, and returns a transport to it, whose connections are kept alive.
func serve(
	srv *fake.Server, r *report, l net.Listener, dial func(context.Context) (net.Conn, error), secure, http2 bool,
) (http.RoundTripper, func()) {
	hs := &httptest.Server{
		Listener:    l,
		Config:      &http.Server{Handler: srv, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)},
		EnableHTTP2: http2,
	}
	if secure {
		hs.StartTLS()
	} else {
		hs.Start()
	}
	w := &wires{report: r, secure: secure, open: map[net.Conn]bool{}}
	tr := hs.Client().Transport.(*http.Transport)
	tr.MaxIdleConnsPerHost = 16
	tr.DialContext = func(ctx context.Context, _, addr string) (net.Conn, error) {
		if addr != "localhost:80" && addr != "example.com:443" {
			r.found("key", "the client dialled %s", addr)
		}
		conn, err := dial(ctx)
		return w.tap(conn), err
	}
	return tr, func() {
		w.close(tr)
		hs.Close()
	}
}

// linkListener accepts connections in memory.
type linkListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *linkListener) dial(ctx context.Context) (net.Conn, error) {
	made := link.New(func(*link.Link) {})
	select {
	case l.conns <- made.Server:
		return made.Client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Accept waits for the next connection.
func (l *linkListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close makes Accept and dial fail.
func (l *linkListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns an address that cannot be dialled.
func (l *linkListener) Addr() net.Addr { return link.ServerAddress }

// wires has the client's ends of the connections of an entry point.
type wires struct {
	report *report
	secure bool
	mu     sync.Mutex
	open   map[net.Conn]bool
}

func (w *wires) tap(conn net.Conn) net.Conn {
	if conn == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &tapped{conn, w}
	w.open[t] = true
	return t
}

// close waits up to 5 seconds until all connections have ended, reports those that are left, and
// closes them.
func (w *wires) close(tr *http.Transport) {
	for end := time.Now().Add(5 * time.Second); len(w.left()) > 0 && time.Now().Before(end); {
		tr.CloseIdleConnections() // repeated, because a stream of HTTP/2 may end a little later
		sleep(time.Millisecond)
	}
	left := w.left()
	if len(left) > 0 {
		w.report.found("connection", "%d are open after the last call", len(left))
	}
	for _, conn := range left {
		_ = conn.Close()
	}
}

func (w *wires) left() []net.Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.open))
}

// tapped is a connection that looks for the key in all that the client writes.
type tapped struct {
	net.Conn
	wires *wires
}

// Write checks p: without TLS the key follows the name of its header; with TLS it must not be
// visible.
func (t *tapped) Write(p []byte) (int, error) {
	seen, due := bytes.Count(p, []byte(key)), bytes.Count(p, []byte("\r\nAuthorization: Bearer "+key+"\r\n"))
	if seen != due || t.wires.secure && seen > 0 {
		t.wires.report.found("key", "%d times in what was written, %d times in Authorization", seen, due)
	}
	return t.Conn.Write(p)
}

// Close removes the connection from the open ones.
func (t *tapped) Close() error {
	t.wires.mu.Lock()
	delete(t.wires.open, t)
	t.wires.mu.Unlock()
	return t.Conn.Close()
}
