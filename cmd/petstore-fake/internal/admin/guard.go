package admin

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// guard keeps pages of other sites away from the admin routes. A browser sends the requests of such
// a page to a loopback port like any other: with the page's own Origin or, if the name of the
// page's site was made to resolve to this machine (DNS rebinding), with that name as Host.
type guard struct {
	public bool
	names  []string
}

func (g guard) check(r *http.Request) error {
	switch {
	case !g.knows(r.Host) && r.URL.Path != Health:
		return refuse(http.StatusForbidden, "the Host of an admin request must be a loopback"+
			" name or address, or with -public an IP address or a host that -addr or -public names")
	case !sameOrigin(r):
		return refuse(http.StatusForbidden,
			"the request comes from a page of another origin; no such page may steer the fake")
	}
	return nil
}

// knows reports whether a Host is the program's own. No DNS name can be rebound to look like an IP
// address, so that a public program may be called by any of its addresses.
func (g guard) knows(hostPort string) bool {
	host := strings.ToLower((&url.URL{Host: hostPort}).Hostname())
	_, err := netip.ParseAddr(host)
	return IsLoopback(host) || g.public && (err == nil || host != "" && slices.Contains(g.names, host))
}

// IsLoopback reports whether a host is a loopback address, or a name that RFC 6761 reserves for
// such addresses, which no other host can have.
func IsLoopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	ip, _ := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip.Unmap().IsLoopback()
}

// sameOrigin reports whether a request comes from a page of this program, from no page, or from a
// link that a user followed. It goes by the Origin and Sec-Fetch headers, each of which may be
// given once. An image or a frame of another site's page is refused.
func sameOrigin(r *http.Request) bool {
	for _, name := range []string{"Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest"} {
		if len(r.Header.Values(name)) > 1 {
			return false
		}
	}
	// A link that is followed opens a whole page, not a part of another one.
	origin, mode, dest := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Mode"), r.Header.Get("Sec-Fetch-Dest")
	if isSafe(r.Method) && origin == "" && (mode == "" || mode == "navigate") && (dest == "" || dest == "document") {
		return true
	}
	strict := r.Clone(r.Context())
	strict.Method = http.MethodPost // CrossOriginProtection lets every GET pass
	return http.NewCrossOriginProtection().Check(strict) == nil
}

func isSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }
