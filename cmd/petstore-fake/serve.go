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

// grace is how long open requests may go on after a signal. After 10 s, docker stop kills the
// program. Half of this leaves enough time to close the fake, which takes up to a second.
const grace = 5 * time.Second

// serve runs the server until ctx ends. With -strict, it lists the violations of the clients on
// stderr, and returns an error if there are any.
func serve(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	l, err := net.Listen("tcp", s.addr())
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

// newService returns the fake, and the handler that the program serves: it has the admin routes,
// and passes all other requests to the fake and its log.
func newService(s settings, stderr io.Writer) (*fake.Server, http.Handler) {
	srv := fake.NewServer(s.fakeOptions()...)
	return srv, admin.New(srv, logged(srv, s.log, stderr), admin.Config{
		Start: s.clock, Plan: s.plan, Public: s.public, Names: append(s.names, strings.ToLower(s.host)),
	})
}

// serveUntil serves until ctx ends. Then it waits at most grace for open requests to end.
func serveUntil(ctx context.Context, handler http.Handler, stderr io.Writer, l net.Listener) error {
	hs := &http.Server{
		Handler: handler, ErrorLog: log.New(stderr, program+": ", 0),
		// These close the connection of a client that sends nothing.
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
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
		_ = hs.Close() // closes the connections of requests that have not ended
	}
	return nil
}

// announce writes the banner, which has the address, the keys and an example, to stdout. With port
// 0, a script reads stdout: it gets only the port, and the banner goes to stderr.
func announce(s settings, addr *net.TCPAddr, stdout, stderr io.Writer) {
	if s.port == "0" {
		fmt.Fprintln(stdout, addr.Port)
		stdout = stderr
	}
	host, keys := localHost(addr.IP.String(), strconv.Itoa(addr.Port)), ""
	for _, k := range s.keys {
		keys += fmt.Sprintf("  key       %s (plan %s)\n", k.Key, s.planOf(k))
	}
	// A single write, so that no other line gets between these lines in a log.
	fmt.Fprintf(stdout, `%s %s: the Pet Store Service in memory

  base URL  http://%s/v1
%s  page      http://%[3]s%[5]s in a browser; curl gets the list of admin routes

  curl -H 'Authorization: Bearer %[6]s' http://%[3]s/v1/pets
`, program, petstore.Version, host, keys, admin.Path, s.keys[0].Key)
}

// localHost returns the host and port at which programs on the same machine reach a listener.
func localHost(host, port string) string {
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
