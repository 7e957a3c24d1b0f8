package admin

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// checkOrigin keeps pages of other sites away from the admin routes. A browser sends the requests
// of such a page to a loopback port like any other: with the page's own Origin or, if the name of
// the page's site was made to resolve to this machine (DNS rebinding), with that name as Host.
func (c *Config) checkOrigin(r *http.Request) error {
	if !c.knows(r.Host) && r.URL.Path != Health {
		return errors.New("the Host of an admin request must be a loopback" +
			" name or address, or with -public an IP address or a host that -addr or -public names")
	}
	// It lets every GET pass: such a request changes nothing, and no other page can read its
	// response.
	if http.NewCrossOriginProtection().Check(r) != nil {
		return errors.New("the request comes from a page of another origin; no such page may steer the fake")
	}
	return nil
}

// knows reports whether a Host is the program's own. A DNS name that was rebound never looks like
// an IP address, so a public program may be called by any of its addresses.
func (c *Config) knows(hostPort string) bool {
	host := strings.ToLower((&url.URL{Host: hostPort}).Hostname())
	_, err := netip.ParseAddr(host)
	return IsLoopback(host) || c.Public && (err == nil || host != "" && slices.Contains(c.Names, host))
}

// IsLoopback reports whether a host is a loopback address, or a name that RFC 6761 reserves for
// such addresses, which no other host can have.
func IsLoopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	ip, _ := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip.Unmap().IsLoopback()
}
