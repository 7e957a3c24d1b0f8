package petstore

import (
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parseBaseURL never returns url.Parse's error, which repeats the URL and with it a password in it.
func parseBaseURL(s string, insecure bool) (*url.URL, error) {
	if strings.TrimSpace(s) != s {
		return nil, invalid("baseURL", "has white space around it")
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, invalid("baseURL", "is not a URL")
	}
	if !utf8.ValidString(u.Host) {
		return nil, invalid("baseURL", "has a host that is not UTF-8")
	}
	// Hosts have no case, but net/http knows only "localhost" for a host that goes through no proxy.
	u.Host = strings.ToLower(u.Host)
	if reason := baseURLFault(u, insecure); reason != "" {
		return nil, invalid("baseURL", reason)
	}
	if _, err := url.Parse(u.String()); err != nil { // an IPv6 zone may not survive String and Parse
		return nil, invalid("baseURL", "is not a URL")
	}
	if strings.HasSuffix(s, "#") { // url.Parse drops an empty fragment
		return nil, invalid("baseURL", "has a fragment")
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

func baseURLFault(u *url.URL, insecure bool) string {
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return "does not start with https:// or http://"
	case u.User != nil:
		return "has user information; the API key is an argument of its own"
	case u.Opaque != "" || u.Hostname() == "":
		return "has no host"
	case !validPort(u):
		return "has an invalid port"
	}
	if reason := pathFault(u); reason != "" {
		return reason
	}
	if u.Scheme == "http" && !insecure && !loopback(u.Hostname()) {
		return "is plain http to a host that is not loopback; see WithInsecureHTTP"
	}
	return ""
}

// pathFault says what is wrong with the part of a base URL behind its host.
func pathFault(u *url.URL) string {
	switch {
	case u.RawQuery != "" || u.ForceQuery:
		return "has a query"
	case u.Fragment != "":
		return "has a fragment"
	case path.Base(u.Path) != "v1":
		return "does not end in the version prefix /v1"
	case u.RawPath != "" || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/"):
		return "has a path that is not clean"
	}
	return ""
}

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// loopback reports whether host is this machine, as net/http decides that it goes through no proxy. An address with
// a zone is not: net/http does not see that it is a loopback.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Zone() == "" && addr.Unmap().IsLoopback()
}
