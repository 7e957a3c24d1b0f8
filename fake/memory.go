package fake

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"syscall"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/link"
)

// baseURL is the address of the entry points in memory. They serve any host; this one is loopback,
// which a client may call by plain http.
const baseURL = "http://localhost" + version

// Client returns a new client of the service that reaches the server in memory, with the default
// key. Make one for each test: two of them do not know of each other's requests. Options override
// the client's key and http.Client: [petstore.WithAPIKeyFunc] gives it another key.
func (s *Server) Client(opts ...petstore.Option) *petstore.Client {
	return s.client("Client", s.APIKey(), opts)
}

// ClientFor is like [Server.Client], for another key that the server knows.
func (s *Server) ClientFor(key string, opts ...petstore.Option) *petstore.Client {
	s.mustFind("ClientFor", key)
	return s.client("ClientFor", key, opts)
}

func (s *Server) client(where, key string, opts []petstore.Option) *petstore.Client {
	all := append([]petstore.Option{petstore.WithHTTPClient(s.HTTPClient())}, opts...)
	c, err := petstore.NewClient(baseURL, key, all...)
	if err != nil { // the options may have a WithAPIKeyFunc, which rules out a fixed key
		var wrong error
		c, wrong = petstore.NewClient(baseURL, "", all...)
		must(wrong == nil, where, "%v", err)
	}
	return c
}

// HTTPClient returns a new client whose requests reach the server in memory, for any host and for
// http and https alike. Its Transport is an [http.Transport] that dials into memory, and the other
// end is an [http.Server], so that headers, bodies, timeouts and failures are those of a
// deployment. The Transport may be changed and cloned, as long as its Proxy and its dial functions
// stay.
//
// Every request has a connection of its own, which is gone when its response body is closed. So
// several synctest bubbles can use one client, and every fault is seen: net/http silently repeats a
// GET when a connection that it used before breaks. For connections that are kept, use
// [Server.URL]. As with any server, a response body that is never closed keeps its goroutines until
// the context of its request ends. Until then, a bubble cannot end.
func (s *Server) HTTPClient() *http.Client { return &http.Client{Transport: s.transport(nil)} }

// transport returns a transport into memory for the requests of clients, or for a repeat.
func (s *Server) transport(r *repeat) *http.Transport {
	dial := func(context.Context, string, string) (net.Conn, error) { return s.dial(r) }
	return &http.Transport{
		Proxy:             s.beforeDial,
		DialContext:       dial,
		DialTLSContext:    dial, // https is sent as plain text: nobody can listen in memory
		DisableKeepAlives: true,
	}
}

// beforeDial is the Transport's Proxy function, because no other function sees a request before it
// has a connection. It fails in place of the dial.
func (s *Server) beforeDial(r *http.Request) (*url.URL, error) {
	err := s.refuseDial(r)
	if trace := httptrace.ContextClientTrace(r.Context()); err != nil && trace != nil && trace.GetConn != nil {
		trace.GetConn(r.URL.Host)
	}
	return nil, err
}

// refuseDial returns the error of a request that a WireRefuse refuses before it is read, nil if
// none does.
func (s *Server) refuseDial(r *http.Request) (err error) {
	refusals := s.faults.active(true)
	if refusals == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = notConnected(errors.New(s.panicMessage(p)))
		}
	}()
	x := s.newExchange(r, nil)
	if f := x.pick(refusals); f != nil {
		return notConnected(cmp.Or(x.pause(f.Delay), os.NewSyscallError("connect", syscall.ECONNREFUSED)))
	}
	return nil
}

// dial makes a connection in memory with a net/http server at its other end.
func (s *Server) dial(rep *repeat) (net.Conn, error) {
	f := &s.inflight
	l := link.New(func(l *link.Link) { f.leave(l) })
	if !f.enter(l, &part{busy: true, breakOff: l.Reset}) {
		return nil, notConnected(closedError{})
	}
	link.Serve(l.Server, newHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer f.change(l, part{busy: true, request: r, leak: "a response body was never closed"})
		s.serve(w, r, rep)
	})))
	return l.Client, nil
}
