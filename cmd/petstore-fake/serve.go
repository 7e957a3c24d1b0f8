package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/admin"
	"github.com/petstore/petstore-go/fake"
)

// grace is how long open requests may take after a signal: half of the 10 s after which docker stop
// kills a program. Closing the fake takes up to a second more.
const grace = 5 * time.Second

// serve listens and serves until ctx ends. With -strict, violations are an error.
func serve(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.addr())
	if err != nil {
		return fmt.Errorf("%w; -addr takes another address, such as 127.0.0.1:0 for any free port", err)
	}
	srv, handler := newService(s, stderr)
	defer srv.Close()
	announce(s, l.Addr().(*net.TCPAddr), stdout, stderr)
	if err := serveUntil(ctx, handler, stderr, l); err != nil || !s.strict {
		return err
	}
	violations := srv.Violations()
	for _, v := range violations {
		fmt.Fprintln(stderr, "violation:", v)
	}
	if len(violations) > 0 {
		return fmt.Errorf("-strict: violations by the clients: %d", len(violations))
	}
	return nil
}

// newService returns the fake, and a handler for it with its admin routes and its log: the program
// without a port.
func newService(s settings, stderr io.Writer) (*fake.Server, http.Handler) {
	srv := fake.NewServer(s.fakeOptions()...)
	return srv, admin.New(srv, logged(srv, s.log, stderr), admin.Config{
		Start: s.clock, Plan: s.plan, Public: s.public, Names: append(s.names, strings.ToLower(s.host)),
	})
}

// serveUntil serves until ctx ends, and then lets open requests end within grace.
func serveUntil(ctx context.Context, handler http.Handler, stderr io.Writer, l net.Listener) error {
	hs := &http.Server{
		Handler: handler, ErrorLog: log.New(stderr, program+": ", 0),
		ReadHeaderTimeout: 10 * time.Second, // a client that sends nothing holds no connection for ever
	}
	failed := make(chan error, 1)
	go func() { failed <- hs.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("the server stopped: %w", err)
	case <-ctx.Done():
	}
	stopping, stop := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer stop()
	if hs.Shutdown(stopping) != nil {
		_ = hs.Close() // ends the requests that still wait
	}
	return nil
}

// announce writes the banner to stdout. With port 0, stdout is for scripts and gets only the port;
// the banner goes to stderr.
func announce(s settings, addr *net.TCPAddr, stdout, stderr io.Writer) {
	if s.port == "0" {
		fmt.Fprintln(stdout, addr.Port)
		stdout = stderr
	}
	host, keys := localHost(addr.IP.String(), strconv.Itoa(addr.Port)), ""
	for _, k := range s.keys {
		keys += fmt.Sprintf("  key       %s (plan %s)\n", k.Key, s.planOf(k))
	}
	// A single write keeps the lines together in a log.
	fmt.Fprintf(stdout, `%s %s: the Pet Store Service in memory

  base URL  http://%s/v1
%s  page      http://%[3]s%[5]s in a browser; curl gets the list of admin routes

  curl -H 'Authorization: Bearer %[6]s' http://%[3]s/v1/pets
`, program, petstore.Version, host, keys, admin.Path, s.keys[0].Key)
}

// localHost returns the host and port by which programs on the same machine reach a listener.
func localHost(host, port string) string {
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
