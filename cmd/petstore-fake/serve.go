package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// Bounds for clients that are slow or gone. The values are generous for a network of one machine.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
)

// grace is how long open requests may take after a signal: half of the 10 s after which docker stop
// kills a program. Closing the fake takes up to a second more.
const grace = 5 * time.Second

// serve listens and serves until ctx ends. With -strict, violations are an error.
func serve(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	l, err := listen(ctx, s)
	if err != nil {
		return err
	}
	i := newInstance(s, stderr)
	defer i.close()
	announce(s, l.Addr(), stdout, stderr)
	hs := newServer(i, stderr)
	hs.RegisterOnShutdown(i.admin.Page().Close) // no event stream ends by itself
	if err := serveUntil(ctx, hs, l, i.srv); err != nil {
		return err
	}
	if s.strict {
		return reportViolations(i.srv.Violations(), stderr)
	}
	return nil
}

// reportViolations writes the violations, and returns an error if there are any.
func reportViolations(violations []fake.Violation, stderr io.Writer) error {
	for _, v := range violations {
		fmt.Fprintf(stderr, "violation of %s by request %d (section %s): %s\n",
			v.Rule, v.Seq, v.Section, v.Detail)
	}
	if len(violations) > 0 {
		return fmt.Errorf("-strict: the clients are not well-behaved: %d violations", len(violations))
	}
	return nil
}

// errWSAAddrInUse is EADDRINUSE of a socket on Windows; no other system has an error of this number.
const errWSAAddrInUse = syscall.Errno(10048)

// listen opens the port. Without -public it refuses a name that does not resolve to loopback.
func listen(ctx context.Context, s settings) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.addr.String())
	switch {
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, errWSAAddrInUse):
		return nil, fmt.Errorf("the address %s is in use; choose another one with -addr, such as"+
			" -addr 127.0.0.1:0 for any free port", s.addr)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w", s.addr, err)
	}
	// The machine may resolve localhost to any address.
	if tcp, ok := l.Addr().(*net.TCPAddr); !s.public && (!ok || !tcp.IP.IsLoopback()) {
		_ = l.Close()
		return nil, fmt.Errorf("%s resolves to %s, which is not loopback; add -public if that is meant",
			s.addr, l.Addr())
	}
	return l, nil
}

func newServer(handler http.Handler, stderr io.Writer) *http.Server {
	hs := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(stderr, program+": ", 0),
		// The service handles OPTIONS * as well.
		DisableGeneralOptionsHandler: true,
		Protocols:                    new(http.Protocols),
	}
	hs.Protocols.SetHTTP1(true)
	return hs
}

// serveUntil serves until ctx ends, and then lets open requests end within grace.
func serveUntil(ctx context.Context, hs *http.Server, l net.Listener, srv *fakecontrol.Server) error {
	requests, cancel := context.WithCancel(context.Background())
	defer cancel() // ends the requests that still wait
	hs.BaseContext = func(net.Listener) context.Context { return requests }
	failed := make(chan error, 1)
	go func() { failed <- hs.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("the server stopped: %w", err)
	case <-ctx.Done():
	}
	stopping, stop := context.WithTimeout(requests, grace)
	defer stop()
	if hs.Shutdown(stopping) != nil {
		cancel()
		srv.Close() // ends stalled responses
		_ = hs.Close()
	}
	return nil
}
