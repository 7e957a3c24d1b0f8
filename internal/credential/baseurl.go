package credential

import (
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParseBaseURL parses and checks a base URL; problem is empty if it is valid. It does not return
// the error of url.Parse, which repeats the URL and with it any password in it.
func ParseBaseURL(s string, insecure bool) (u *url.URL, problem string) {
	if strings.TrimSpace(s) != s {
		return nil, "has white space around it"
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, "is not a URL"
	}
	if !utf8.ValidString(u.Host) {
		return nil, "has a host that is not UTF-8"
	}
	// Hosts are case-insensitive, but net/http bypasses the proxy only for a lower-case
	// "localhost".
	u.Host = strings.ToLower(u.Host)
	if reason := baseURLProblem(u, insecure); reason != "" {
		return nil, reason
	}
	if _, err := url.Parse(u.String()); err != nil { // an IPv6 zone may not survive String and Parse
		return nil, "is not a URL"
	}
	if strings.HasSuffix(s, "#") { // url.Parse drops an empty fragment
		return nil, "has a fragment"
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, ""
}

// baseURLProblem returns the first thing that is wrong with a base URL; empty if nothing is.
func baseURLProblem(u *url.URL, insecure bool) string {
	for _, check := range []struct {
		wrong  bool
		reason string
	}{
		{u.Scheme != "https" && u.Scheme != "http", "does not start with https:// or http://"},
		{u.User != nil, "has user information; pass the API key as apiKey"},
		{u.Opaque != "" || u.Hostname() == "", "has no host"},
		{!validPort(u), "has an invalid port"},
		{u.RawQuery != "" || u.ForceQuery, "has a query"},
		{u.Fragment != "", "has a fragment"},
		{path.Base(u.Path) != "v1", "does not end in the version prefix /v1"},
		{u.RawPath != "" || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/"), "has a path that is not clean"},
		{
			u.Scheme == "http" && !insecure && !IsLoopback(u.Hostname()),
			"is plain http to a host that is not loopback; see WithInsecureHTTP",
		},
	} {
		if check.wrong {
			return check.reason
		}
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

// IsLoopback reports whether host is this machine. It follows the rule by which net/http bypasses a
// proxy: for an address with a zone net/http would use the proxy, so such an address is no
// loopback.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Zone() == "" && addr.Unmap().IsLoopback()
}

// PathBelow returns the unescaped path, with a slash before it, or what is wrong with an escaped
// path and its query. The result is below the base URL for each server, also for one that unescapes
// twice, takes a backslash for a slash, or cuts off parameters after a semicolon.
func PathBelow(escaped, query string) (path, problem string) {
	path, err := url.PathUnescape(strings.TrimPrefix(escaped, "/"))
	switch {
	case err != nil || !urlText(escaped) || !urlText(query):
		return "", "has a character that is not escaped"
	case path == "":
		return "", "is empty"
	case strings.Count(path, "/") != strings.Count(strings.TrimPrefix(escaped, "/"), "/"):
		return "", "has an escaped slash"
	case strings.ContainsAny(path, "%\\") || strings.ContainsFunc(path, unicode.IsControl):
		return "", "has an escaped percent sign, backslash or control character"
	}
	for segment := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		name, _, _ := strings.Cut(segment, ";")
		if name == "." || name == ".." || segment == "" {
			return "", "has the segment ., .. or an empty one"
		}
	}
	return "/" + path, ""
}

// urlText reports whether s has only characters that may be in the path or query of a URL.
func urlText(s string) bool { return only(s, alphanumeric+"-._~!$&'()*+,;=:@/?%") }
