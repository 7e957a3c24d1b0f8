package fake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/petstore/petstore-go/internal/link"
)

// HTTPClient returns a new client whose requests reach the server in memory, for any host and for
// http and https alike. Both sides are net/http itself, with a connection in memory between them,
// so that headers, bodies, timeouts and failures are those of a deployment.
//
// Every request has a connection of its own, which is gone when its response body is closed. So
// several synctest bubbles can use one server, and every fault is seen: net/http silently repeats a
// GET when a connection that it used before breaks. For connections that are kept, use
// [Server.URL]. A response body that is never closed keeps its goroutines until Close, and a bubble
// from ending.
func (s *Server) HTTPClient() *http.Client {
	return &http.Client{Transport: memory{s}}
}

// newMemoryTransport returns the transport of clients that use the entry point in memory. It holds
// no connection between requests, hence no goroutine and no channel of any bubble.
func (s *Server) newMemoryTransport() *http.Transport {
	dial := func(context.Context, string, string) (net.Conn, error) { return s.dial() }
	return &http.Transport{
		DialContext:       dial,
		DialTLSContext:    dial, // https is sent as plain text: nobody can listen in memory
		DisableKeepAlives: true,
		WriteBufferSize:   1 << 10,
		ReadBufferSize:    1 << 10,
	}
}

// memory is the entry point in memory.
type memory struct{ srv *Server }

// RoundTrip sends a request through net/http and a connection in memory.
func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := m.srv.turnAway(r); err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	d := &delivery{inflight: &m.srv.inflight, req: r, cancel: cancel}
	d.inflight.enter(d) // if the server is closed, dial returns an error
	resp, err := m.srv.memory.RoundTrip(r.WithContext(ctx))
	if err != nil {
		d.end()
		return nil, err
	}
	resp.Request, d.ReadCloser = r, resp.Body
	if resp.Body == http.NoBody {
		d.end()
		return resp, nil
	}
	d.responded.Store(true)
	resp.Body = d
	return resp, nil
}

// turnAway returns the error of a request that a WireRefuse refuses before it is sent, nil if none
// does.
func (s *Server) turnAway(r *http.Request) (err error) {
	if r.URL == nil || !s.faults.refuses() {
		return nil // net/http says that there is no URL
	}
	defer func() {
		if p := recover(); p != nil {
			err = notConnected(errors.New(s.panicMessage(p)))
		}
	}()
	x := s.newExchange(r)
	if r.Body != nil && r.GetBody != nil {
		if body, err := r.GetBody(); err == nil { // a client may give only one copy
			defer func() { _ = body.Close() }()
			x.req = r.WithContext(r.Context())
			x.req.Body = body
			x.readBody()
		}
	}
	if f := s.faults.pick(x, true); f != nil {
		return notConnected(cmp.Or(x.pause(f.Delay), os.NewSyscallError("connect", syscall.ECONNREFUSED)))
	}
	return nil
}

// delivery is a request of HTTPClient from its sending until its response body, which it is, was
// read to its end or closed.
type delivery struct {
	io.ReadCloser // of the response of net/http

	inflight  *inflight
	req       *http.Request
	cancel    context.CancelCauseFunc
	responded atomic.Bool
}

// end may be called more than once.
func (d *delivery) end() {
	d.cancel(nil)
	d.inflight.leave(d)
}

func (d *delivery) String() string { return fmt.Sprintf("%s %s", d.req.Method, d.req.URL.Path) }

// Read ends the delivery with the body.
func (d *delivery) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	if err != nil {
		d.end()
	}
	return n, err
}

// Close ends the delivery.
func (d *delivery) Close() error {
	err := d.ReadCloser.Close()
	d.end()
	return err
}

// dial makes a connection in memory with a net/http server at its other end. The server has one
// connection in its life and accepts it here, so that no goroutine waits for others; and since it
// is never used again, its WaitGroup belongs to one synctest bubble only.
func (s *Server) dial() (net.Conn, error) {
	l := link.New(func(l *link.Link) { s.inflight.leave(l) })
	if !s.inflight.enter(l) {
		return nil, notConnected(closedError{})
	}
	hs := newHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, false) }))
	_ = hs.Serve(&oneConn{conn: l.Server}) // it returns once a goroutine has the connection
	return l.Client, nil
}

// oneConn is a listener that accepts one connection.
type oneConn struct{ conn net.Conn }

// Accept returns the connection the first time, and an error from then on.
func (o *oneConn) Accept() (net.Conn, error) {
	if o.conn == nil {
		return nil, net.ErrClosed
	}
	conn := o.conn
	o.conn = nil
	return conn, nil
}

// Close has nothing to do: the connection belongs to the server that accepted it.
func (o *oneConn) Close() error { return nil }

// Addr returns the address of the server in memory.
func (o *oneConn) Addr() net.Addr { return link.ServerAddress }
