package fake

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"
)

// URL returns the address of the server on a loopback port, ending in /v1, for clients that cannot
// be given an http.Client. The port is opened at the first call and not before. URL panics if no
// port is free, or if the server was closed before the first call.
//
// URL also panics inside a testing/synctest bubble, whose time does not pass while a goroutine
// reads from a socket. [Server.Client] and [Server.HTTPClient] work there.
func (s *Server) URL() string {
	must(!inBubble(), "URL", "a goroutine that reads from a socket stops the time of a testing/synctest"+
		" bubble; use Client or HTTPClient in a bubble")
	return s.loopback()
}

// inBubble reports whether the calling goroutine belongs to a synctest bubble. Without linking the
// testing package, only the header of a stack trace shows it: "goroutine 7 [running, synctest
// bubble 1]:". Should that text change, URL works as it does outside a bubble.
func inBubble() bool {
	trace := make([]byte, 64) // longer than the header
	header, _, _ := bytes.Cut(trace[:runtime.Stack(trace, false)], []byte("]"))
	return bytes.Contains(header, []byte("synctest bubble"))
}

// listen opens the port, and returns its URL.
func (s *Server) listen() string {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil { // a machine without IPv4
		l, err = lc.Listen(context.Background(), "tcp6", "[::1]:0")
	}
	must(err == nil, "URL", "no loopback port: %v", err)
	if !s.inflight.enter(l, &part{breakOff: func() { _ = l.Close() }}) {
		_ = l.Close()
		must(false, "URL", "the server is closed")
	}
	hs := newHTTPServer(s)
	hs.ConnState = s.inflight.connState
	go func() {
		_ = hs.Serve(l) // it ends when Close closes the port
		s.inflight.leave(l)
	}()
	return "http://" + l.Addr().String() + "/v1"
}

// connState follows the connections of the port.
func (f *inflight) connState(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if !f.enter(c, &part{breakOff: func() { _ = c.Close() }}) {
			_ = c.Close()
		}
	case http.StateActive, http.StateIdle:
		f.change(c, part{busy: state == http.StateActive})
	case http.StateClosed, http.StateHijacked:
		f.leave(c)
	}
}

func newHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h,
		// The bounds of what any process can hold open through the loopback port.
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    64 << 10,
		// It writes nothing to stderr: faults abort connections on purpose.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		// Otherwise net/http serves OPTIONS * itself, without the headers of the service.
		DisableGeneralOptionsHandler: true,
	}
}
