package main

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// address is where the program listens.
type address struct {
	host string
	port uint16
}

// parseAddress reads HOST:PORT. The port is a number: names of ports differ from system to system.
func parseAddress(text string) (address, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return address{}, fmt.Errorf("%q is not HOST:PORT, such as %s", text, defaultAddr)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return address{}, fmt.Errorf("the port %q is not a number between 0 and 65535", port)
	}
	if _, err := netip.ParseAddr(host); host != "" && err != nil && !isHostName(host) {
		return address{}, fmt.Errorf("the host %q is neither an IP address nor a host name", host)
	}
	return address{host, uint16(n)}, nil
}

// String returns HOST:PORT.
func (a address) String() string {
	return net.JoinHostPort(a.host, strconv.Itoa(int(a.port)))
}

// isLoopback reports whether a host is nothing but this machine. The names are those which
// RFC 6761 reserves for that, so that nobody else can own them.
func isLoopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// isHostName reports whether a text can be the name of a host.
func isHostName(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return false
		}
		return r != '-' && r != '.' && r != '_'
	})
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
