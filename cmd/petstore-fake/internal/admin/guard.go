package admin

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// checkOrigin refuses the requests of other sites' pages, because a browser lets every page send
// requests to a loopback port. The Origin header of such a request names the other site. A site can
// also make its own name resolve to this machine (DNS rebinding): then Host has this name.
func (c *Config) checkOrigin(r *http.Request) error {
	if !c.knows(r.Host) && r.URL.Path != Health {
		return errors.New("the Host of an admin request must be a loopback" +
			" name or address, or with -public an IP address or a host that -addr or -public names")
	}
	// Check lets every GET pass. This is safe: a GET changes nothing, and a browser does not let a
	// page of another origin read the response.
	if http.NewCrossOriginProtection().Check(r) != nil {
		return errors.New("the request comes from a page of another origin; no such page may steer the fake")
	}
	return nil
}

// knows reports whether a request with this Host may use the admin routes. If the program is
// public, any IP address will do: after DNS rebinding, the Host is a name, never an address.
func (c *Config) knows(hostPort string) bool {
	host := strings.ToLower((&url.URL{Host: hostPort}).Hostname())
	_, err := netip.ParseAddr(host)
	return IsLoopback(host) || c.Public && (err == nil || host != "" && slices.Contains(c.Names, host))
}

// IsLoopback reports whether a host is a loopback address, localhost, or a name that ends with
// .localhost. RFC 6761 reserves these names for loopback addresses: no other host can have them.
func IsLoopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	ip, _ := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip.Unmap().IsLoopback()
}
