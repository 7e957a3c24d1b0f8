package adminapi

import (
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

// guard keeps pages of other sites away from the admin routes. A browser sends such a page's requests
// to a loopback port like any other: with the page's own Origin, or, if the page's name was made to
// point here (DNS rebinding), with that name as Host.
type guard struct {
	public bool
	names  []string
}

// check returns why a request must not be served, nil if it may.
func (g guard) check(r *http.Request) error {
	switch {
	case !g.knows(r.Host) && r.URL.Path != Health:
		return httpjson.Errorf(http.StatusForbidden, "the Host of an admin request must be a loopback"+
			" name or address, or with -public an IP address or a host that -addr or -public names")
	case !sameOrigin(r):
		return httpjson.Errorf(http.StatusForbidden,
			"the request comes from a page of another origin; no such page may steer the fake")
	case !isSafe(r.Method) && !declared(r):
		return httpjson.Errorf(http.StatusUnsupportedMediaType, "a request that changes something must"+
			" say Content-Type: application/json, or have neither body nor Origin")
	}
	return nil
}

// knows reports whether a Host is the program's own. No DNS name can be rebound to look like an IP
// address, so that a public program may be called by any of its addresses.
func (g guard) knows(hostPort string) bool {
	host := spec.HostName(hostPort)
	if spec.IsLoopback(host) {
		return true
	}
	_, err := netip.ParseAddr(host)
	return g.public && (err == nil || slices.Contains(g.names, host))
}

// sameOrigin judges by Origin and by Sec-Fetch-Site. Following a link from elsewhere is a cross-site GET
// as well, and welcome; an image or a frame that another site's page asks for is not.
func sameOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) > 1 {
		return false
	}
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.EqualFold(u.Host, r.Host) {
			return false
		}
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if (site == "cross-site" || site == "same-site") && !followsLink(r) {
		return false
	}
	return http.NewCrossOriginProtection().Check(r) == nil
}

// followsLink reports whether a request is, as far as it says, for a page of its own, not for a part of
// another page.
func followsLink(r *http.Request) bool {
	mode, dest := r.Header.Get("Sec-Fetch-Mode"), r.Header.Get("Sec-Fetch-Dest")
	return (mode == "" || mode == "navigate") && (dest == "" || dest == "document")
}

func isSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// declared reports whether a request is one that a browser sends for another site only after asking
// with OPTIONS, which gets no permission here, or one that no browser sends: a page's POST always
// has an Origin.
func declared(r *http.Request) bool {
	contentType := r.Header.Get("Content-Type")
	if contentType == "" {
		return r.ContentLength == 0 && r.Header.Get("Origin") == ""
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json"
}
