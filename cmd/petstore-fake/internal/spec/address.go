package spec

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/internal/credential"
)

// DefaultAddr is the address of a program without -addr.
const DefaultAddr = "127.0.0.1:4010"

// Address is where the program listens.
type Address struct {
	// Host is an IP address or a name; "" is every address of the machine.
	Host string
	// Port is 0 for any free port.
	Port uint16
}

// ParseAddress reads HOST:PORT. The port must be a number, since systems differ in the names of
// ports.
func ParseAddress(text string) (Address, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return Address{}, fmt.Errorf("%q is not HOST:PORT, such as %s", text, DefaultAddr)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Address{}, fmt.Errorf("the port %q is not a number between 0 and 65535", port)
	}
	if _, err := netip.ParseAddr(host); host != "" && err != nil && !IsHostName(host) {
		return Address{}, fmt.Errorf("the host %q is neither an IP address nor a host name", host)
	}
	return Address{host, uint16(n)}, nil
}

// String returns HOST:PORT.
func (a Address) String() string {
	return net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port)))
}

// IsLoopback reports whether a host is a loopback address, or a name that RFC 6761 reserves for
// such addresses, which no other host can have.
func IsLoopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return strings.HasSuffix(host, ".localhost") || credential.IsLoopback(host)
}

// IsHostName reports whether a text can be the name of a host.
func IsHostName(text string) bool {
	return hostName.MatchString(text)
}

var hostName = regexp.MustCompile(`^[\w.-]+$`)

// HostName returns a Host header without its port, in lower case.
func HostName(hostPort string) string {
	return strings.ToLower((&url.URL{Host: hostPort}).Hostname())
}
