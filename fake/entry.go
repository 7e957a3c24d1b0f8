package fake

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"syscall"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/link"
)

// baseURL is the address for clients in memory. They may call a loopback host by plain http.
const baseURL = "http://localhost" + version

// Client returns a new client of the service that reaches the server in memory, with the default
// key. Two such clients do not know of each other's requests. Options may replace the http.Client
// and, with [petstore.WithAPIKeyFunc], the key.
func (s *Server) Client(opts ...petstore.Option) *petstore.Client {
	return s.ClientFor(s.APIKey(), opts...)
}

// ClientFor is like [Server.Client], for another key that the server knows.
func (s *Server) ClientFor(key string, opts ...petstore.Option) *petstore.Client {
	s.withKey("ClientFor", key, func(*apiKey) {}) // panics for an unknown key
	opts = append([]petstore.Option{petstore.WithHTTPClient(s.HTTPClient())}, opts...)
	c, err := petstore.NewClient(baseURL, key, opts...)
	if wrong, ok := errors.AsType[*petstore.ArgumentError](err); ok && wrong.Argument == "apiKey" {
		c, err = petstore.NewClient(baseURL, "", opts...) // a WithAPIKeyFunc rules out a fixed key
	}
	panicOn("Client", err)
	return c
}

// HTTPClient returns a new client whose requests reach the server in memory, for any host, by http
// and https alike. Its Transport is an [http.Transport], which dials to an [http.Server] in memory.
// You may change or clone this transport, but must keep its Proxy and its dial functions.
//
// Every request has a connection of its own, so that several synctest bubbles can use one client.
// So the client also sees every fault: if a reused connection broke, net/http would silently repeat
// a GET. To keep connections open, use [Server.URL]. A response body that is never closed keeps
// goroutines, and so a bubble, alive until the context of its request ends.
func (s *Server) HTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:             s.connect, // only Proxy sees a request before it has a connection
		DialContext:       s.dial,
		DialTLSContext:    s.dial, // https is sent as plain text: nobody can listen in memory
		DisableKeepAlives: true,
	}}
}

// connect returns an error if a request in memory gets no connection: a fault refuses it, or the
// client has given up. Such a request never arrives, and must not count as under way.
func (s *Server) connect(r *http.Request) (*url.URL, error) {
	x := s.newExchange(r)
	if err := cmp.Or(x.refuse(), context.Cause(r.Context())); err != nil {
		return nil, err
	}
	x.noteSender()
	return nil, nil
}

// refuse returns the error of a refused connection if a WireRefuse applies to the request.
func (x *exchange) refuse() error {
	f := x.pickFault(true) // the body has not been read yet, so Match gets an empty one
	if f == noFault {
		return nil
	}
	ctx := x.req.Context()
	return notConnected(cmp.Or(pause(ctx, f.Delay), os.NewSyscallError("connect", syscall.ECONNREFUSED)))
}

func notConnected(reason error) error {
	return &net.OpError{Op: "dial", Net: "fake", Addr: link.ServerAddress, Err: reason}
}

// dial makes a connection in memory with a net/http server at its other end.
func (s *Server) dial(context.Context, string, string) (net.Conn, error) {
	if s.closed.Load() {
		// An unknown host, and no refused connection: so no client tries again.
		const reason = "fake: the server is closed"
		return nil, notConnected(&net.DNSError{Name: "localhost", Err: reason, IsNotFound: true})
	}
	client, server := link.New()
	serve := func(w http.ResponseWriter, r *http.Request) { s.newExchange(r).serve(w) }
	link.Serve(server, s.newHTTPServer(http.HandlerFunc(serve)))
	return client, nil
}

// ServeHTTP makes the server a handler for the paths below /v1, to be used in an [http.Server] of
// the caller. A fault that breaks the connection hijacks it. If w cannot be hijacked, ServeHTTP
// panics with [http.ErrAbortHandler], as it also does after Close.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := s.newExchange(r)
	if x.refuse() != nil { // the connection breaks also if the client has given up
		breakOff(w, WireRefuse)
		return
	}
	x.noteSender()
	x.serve(w)
}

// URL returns the address of the server on a loopback port, ending in /v1, for clients that cannot
// be given an http.Client. The first call opens the port, and panics if no port is free or the
// server is closed. URL also panics inside a testing/synctest bubble, where no time passes while a
// goroutine reads from a socket.
func (s *Server) URL() string {
	panicUnless(!strings.Contains(goroutine(), "synctest bubble"), "URL", "a goroutine that reads from a socket"+
		" stops the time of a testing/synctest bubble; use Client or HTTPClient in a bubble")
	return s.loopback()
}

// goroutine describes the goroutine that calls it: "goroutine 7 [running, synctest bubble 1]:…".
//
// The rules for clients need the number, to tell whether a request was already on its way when a
// 429 was sent. The order of connections and responses cannot show this. But the goroutine that got
// the 429 sends its next request after the 429. Package runtime has no other name for a goroutine.
func goroutine() string {
	trace := make([]byte, 64)
	return string(trace[:runtime.Stack(trace, false)])
}

// listen opens the port, and returns its URL.
func (s *Server) listen() string {
	panicUnless(!s.closed.Load(), "URL", "the server is closed")
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "localhost:0")
	panicUnless(err == nil, "URL", "no loopback port: %v", err)
	s.follow(l, http.StateIdle)
	go func() {
		_ = s.newHTTPServer(s).Serve(l) // Serve returns when Close closes the port
		s.follow(l, http.StateClosed)
	}()
	return "http://" + l.Addr().String() + version
}

func (s *Server) newHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:   h,
		ConnState: func(c net.Conn, state http.ConnState) { s.follow(c, state) },
		// Nothing goes to stderr: faults abort connections on purpose.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
}
