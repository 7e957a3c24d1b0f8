package credential

import (
	"cmp"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParseBaseURL parses and checks a base URL; problem is empty if it is valid. It does not return
// the error of url.Parse, which repeats the URL and with it any password in it.
func ParseBaseURL(s string, insecure bool) (u *url.URL, problem string) {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || !utf8.ValidString(s) {
		return nil, "is not a URL"
	}
	// Hosts are case-insensitive, but net/http bypasses the proxy only for a lower-case "localhost".
	u.Host, u.Path = strings.ToLower(u.Host), strings.TrimSuffix(u.Path, "/")
	number, err := strconv.ParseUint(u.Port(), 10, 16)
	wrongPort := u.Port() != "" && (err != nil || number == 0) || strings.HasSuffix(u.Host, ":")
	_, zone := url.Parse(u.String()) // the text of a URL with an IPv6 zone may not be a URL again
	return u, cmp.Or(
		when(strings.TrimSpace(s) != s, "has white space around it"),
		when(u.Scheme != "https" && u.Scheme != "http", "does not start with https:// or http://"),
		when(u.User != nil, "has user information; pass the API key as apiKey"),
		when(u.Opaque != "" || u.Hostname() == "", "has no host"),
		when(wrongPort, "has an invalid port"),
		when(u.RawQuery != "" || u.ForceQuery, "has a query"),
		when(strings.Contains(s, "#"), "has a fragment"), // url.Parse drops an empty fragment
		when(path.Base(u.Path) != "v1", "does not end in the version prefix /v1"),
		when(u.RawPath != "" || path.Clean(u.Path) != u.Path, "has a path that is not clean"),
		when(u.Scheme == "http" && !insecure && !IsLoopback(u.Hostname()),
			"is plain http to a host that is not loopback; see WithInsecureHTTP"),
		when(zone != nil, "is not a URL"),
	)
}

// when returns problem if wrong is true, else an empty text.
func when(wrong bool, problem string) string {
	if !wrong {
		return ""
	}
	return problem
}

// IsLoopback reports whether host is this machine. As when net/http bypasses a proxy, an address
// with a zone is not.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Zone() == "" && addr.IsLoopback()
}

var (
	// unsafe matches a path with an unsafe segment: ., .. or an empty one, also with parameters after a
	// semicolon.
	unsafe = regexp.MustCompile(`(^|/)\.{0,2}(;[^/]*)?(/|$)`)
	// inURL matches text that needs no escape in a path or a query.
	inURL = regexp.MustCompile(`^[A-Za-z0-9._~!$&'()*+,;=:@/?%-]*$`)
)

// PathBelow returns the unescaped form of a path, with a slash before it, or what is wrong with the
// path or its query. The result is below the base URL for every server, also for one that unescapes
// twice, takes a backslash for a slash, or cuts off parameters after a semicolon.
func PathBelow(escaped, query string) (path, problem string) {
	escaped = strings.TrimPrefix(escaped, "/")
	path, err := url.PathUnescape(escaped)
	return "/" + path, cmp.Or(
		when(err != nil || !inURL.MatchString(escaped+query), "has a character that is not escaped"),
		when(strings.Count(path, "/") != strings.Count(escaped, "/"), "has an escaped slash"),
		when(strings.ContainsAny(path, "%\\") || strings.ContainsFunc(path, unicode.IsControl),
			"has an escaped percent sign, backslash or control character"),
		when(unsafe.MatchString(strings.TrimSuffix(path, "/")), "has the segment ., .. or an empty one"),
	)
}
