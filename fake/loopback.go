package fake

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"
)

// loopback is the entry point on a port.
type loopback struct {
	mu       sync.Mutex
	url      string
	server   *http.Server
	listener net.Listener
}

// URL returns the address of the server on a loopback port, ending in /v1, for clients that cannot
// be given an http.Client. The port is opened at the first call and not before. URL panics if no
// port is free, or if the server was closed before the first call.
//
// URL also panics inside a testing/synctest bubble, where the first wait of a client would never
// end: a goroutine that reads from a socket keeps the bubble's time from passing. [Server.Client]
// and [Server.HTTPClient] work there.
func (s *Server) URL() string {
	must(!inBubble(), "URL", "a goroutine that reads from a socket stops the time of a testing/synctest"+
		" bubble; use Client or HTTPClient in a bubble")
	s.loopback.mu.Lock()
	defer s.loopback.mu.Unlock()
	if s.loopback.url == "" {
		s.listen()
	}
	return s.loopback.url
}

// inBubble reports whether the calling goroutine belongs to a synctest bubble. Without linking the
// testing package, only the header of a stack trace shows it: "goroutine 7 [running, synctest
// bubble 1]:". Should that text change, URL works as it does outside a bubble.
func inBubble() bool {
	trace := make([]byte, 64) // longer than the header
	header, _, _ := bytes.Cut(trace[:runtime.Stack(trace, false)], []byte("]"))
	return bytes.Contains(header, []byte("synctest bubble"))
}

// listen opens the port. The caller holds loopback.mu.
func (s *Server) listen() {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil { // a machine without IPv4
		l, err = lc.Listen(context.Background(), "tcp6", "[::1]:0")
	}
	must(err == nil, "URL", "no loopback port: %v", err)
	f := &s.inflight
	if !f.enter(l) {
		_ = l.Close()
		must(false, "URL", "the server is closed")
	}
	hs := newHTTPServer(s)
	hs.ConnState = f.connState
	s.loopback.server, s.loopback.listener = hs, l
	s.loopback.url = "http://" + l.Addr().String() + "/v1"
	go func() {
		_ = hs.Serve(l) // it ends when Close closes the port
		f.leave(l)
	}()
}

// close closes the port, and with conns every connection.
func (l *loopback) close(conns bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server == nil {
		return
	}
	_ = l.listener.Close()
	if conns {
		_ = l.server.Close()
	}
}

// connState follows the connections of the port.
func (f *inflight) connState(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch state {
	case http.StateClosed, http.StateHijacked:
		delete(f.parts, c)
	default:
		f.parts[c] = state == http.StateActive
	}
}

// newHTTPServer returns the net/http server of an entry point.
func newHTTPServer(h http.Handler) *http.Server {
	hs := &http.Server{
		Handler: h,
		// The bounds of what any process can hold open through the loopback port.
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    64 << 10,
		// Nothing to stderr: aborted connections are what the faults are for.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		// Or net/http serves OPTIONS * itself, without the headers of the service.
		DisableGeneralOptionsHandler: true,
		// HTTP/1 alone: setting HTTP/2 up costs more than a request.
		Protocols: new(http.Protocols),
	}
	hs.Protocols.SetHTTP1(true)
	return hs
}
