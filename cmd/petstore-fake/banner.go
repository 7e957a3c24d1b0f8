package main

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

// announce tells where the program is. With port 0 that is one line on stdout for scripts, the port,
// and the rest goes to stderr.
func announce(s settings, addr net.Addr, host string, stdout, stderr io.Writer) {
	w := stdout
	if s.addr.Port == 0 {
		w = stderr
		if tcp, ok := addr.(*net.TCPAddr); ok {
			fmt.Fprintln(stdout, tcp.Port)
		}
	}
	_, _ = io.WriteString(w, banner(s, host)) // a closed stdout is no reason not to serve
}

// banner is written in one piece, so that a log does not get between its lines.
func banner(s settings, host string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: the Pet Store Service in memory\n\n", program, petstore.Version)
	fmt.Fprintf(&b, "  base URL  http://%s/v1\n", host)
	fmt.Fprintf(&b, "  key       %s (plan %s)\n", s.key, spec.PlanText(s.plan))
	fmt.Fprintf(&b, "  animals   %d\n", len(s.pets))
	fmt.Fprint(&b, `
  GET  /v1/pets          list animals (limit, status)
  POST /v1/pets          add an animal
  GET  /v1/pets/{petId}  one animal; deprecated, removed on 5 December 2030
  GET  /_fake/           the request page in a browser, the admin routes for curl

`)
	fmt.Fprintf(&b, "  curl -H %s http://%s/v1/pets\n", requestpage.ShellQuote("Authorization: Bearer "+s.key), host)
	return b.String()
}

// callable returns the host by which a program on the same machine calls a listener.
func callable(l net.Addr) string {
	tcp, ok := l.(*net.TCPAddr)
	if !ok {
		return l.String()
	}
	host := tcp.IP.String()
	if tcp.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}
