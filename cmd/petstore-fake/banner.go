package main

import (
	"fmt"
	"io"
	"net"
	"strings"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/adminapi"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/replay"
)

// announce writes the banner to stdout. With port 0 stdout is for scripts: it gets only the port,
// and stderr gets the banner.
func announce(s settings, addr net.Addr, stdout, stderr io.Writer) {
	w := stdout
	host := addr.String()
	if tcp, ok := addr.(*net.TCPAddr); ok {
		host = localHost(tcp.IP.String(), tcp.AddrPort().Port())
		if s.addr.port == 0 {
			w = stderr
			fmt.Fprintln(stdout, tcp.Port)
		}
	}
	_, _ = io.WriteString(w, banner(s, host)) // the program also serves if stdout is closed
}

// banner returns the banner as one text, so that one write keeps its lines together in a log.
func banner(s settings, host string) string {
	var b strings.Builder
	origin := "http://" + host
	fmt.Fprintf(&b, "%s %s: the Pet Store Service in memory\n\n", program, petstore.Version)
	fmt.Fprintf(&b, "  base URL  %s/v1\n", origin)
	for _, k := range s.keys {
		fmt.Fprintf(&b, "  key       %s (plan %s)\n", k.Key, k.Plan)
	}
	fmt.Fprintf(&b, "  pets      %d\n", len(s.pets))
	fmt.Fprint(&b, `
  GET  /v1/pets          list pets (limit, status)
  POST /v1/pets          add a pet
  GET  /v1/pets/{petId}  one pet; deprecated, removed on 5 December 2030
  GET  `+adminapi.Path+`           the request page in a browser, the admin routes for curl

`)
	header := replay.ShellQuote("Authorization: Bearer " + s.keys[0].Key)
	fmt.Fprintf(&b, "  curl -H %s %s/v1/pets\n", header, origin)
	return b.String()
}
