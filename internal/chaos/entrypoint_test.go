package chaos

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
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

// entryPoints returns the fake's own in memory, and links that are kept alive and may use TLS and
// HTTP/2.
func entryPoints() []entryPoint {
	memory := func(srv *fake.Server, _ *report) (http.RoundTripper, func()) {
		return srv.HTTPClient().Transport, func() {}
	}
	links := func(secure, http2 bool) func(*fake.Server, *report) (http.RoundTripper, func()) {
		return func(srv *fake.Server, r *report) (http.RoundTripper, func()) { return serve(srv, r, secure, http2) }
	}
	return []entryPoint{
		{"memory", "http://localhost/v1", memory},
		{"HTTP/1.1", "http://localhost/v1", links(false, false)},
		{"HTTP/1.1 over TLS", "https://example.com/v1", links(true, false)},
		{"HTTP/2", "https://example.com/v1", links(true, true)},
	}
}

// serve serves links with net/http, and returns a transport to them, whose connections are kept
// alive.
func serve(srv *fake.Server, r *report, secure, http2 bool) (http.RoundTripper, func()) {
	l := &linkListener{conns: make(chan net.Conn), closed: make(chan struct{})}
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
	open := new(atomic.Int64)
	tr := hs.Client().Transport.(*http.Transport)
	tr.MaxIdleConnsPerHost = 16
	tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := l.dial(ctx)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		return &counted{Conn: conn, open: open}, nil
	}
	return tr, func() {
		for end := time.Now().Add(5 * time.Second); open.Load() > 0 && time.Now().Before(end); {
			tr.CloseIdleConnections() // repeated, because a stream of HTTP/2 may end a little later
			sleep(time.Millisecond)
		}
		if n := open.Load(); n > 0 {
			r.found("connection", "%d are open after the last call", n)
		}
		hs.CloseClientConnections()
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

// counted is a connection that is counted while it is open.
type counted struct {
	net.Conn
	open   *atomic.Int64
	closed sync.Once
}

// Close counts the connection as closed.
func (c *counted) Close() error {
	c.closed.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}
