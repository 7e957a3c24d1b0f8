package credential

import (
	"cmp"
	"net"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// ParseBaseURL parses and checks a base URL; problem is empty if it is valid. The error of
// url.Parse is not returned, because it repeats the URL, in which there may be a password.
func ParseBaseURL(s string, insecure bool) (u *url.URL, problem string) {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil {
		return nil, "is not a URL"
	}
	// net/http bypasses a proxy only for a lower-case "localhost".
	u.Host, u.Path = strings.ToLower(u.Host), strings.TrimSuffix(u.Path, "/")
	return u, cmp.Or(
		when(s == "", "is not set"),
		when(strings.TrimSpace(s) != s, "has white space around it"),
		when(u.Scheme != "https" && u.Scheme != "http", "does not start with https:// or http://"),
		when(u.User != nil, "has user information; pass the API key as apiKey"),
		when(u.Hostname() == "", "has no host"),
		when(u.RawQuery != "" || u.ForceQuery, "has a query"),
		when(strings.Contains(s, "#"), "has a fragment"), // url.Parse drops an empty fragment
		when(path.Base(u.Path) != "v1", "does not end in the version prefix /v1"),
		when(u.RawPath != "" || path.Clean(u.Path) != u.Path, "has a path that is not clean"),
		when(u.Scheme == "http" && !insecure && !IsLoopback(u.Hostname()),
			"is plain http to a host that is not loopback; see WithInsecureHTTP"),
	)
}

// IsLoopback reports whether host is this machine: "localhost" or a loopback address.
func IsLoopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// unescaped matches text that needs no escape in a path or a query.
var unescaped = regexp.MustCompile(`^[A-Za-z0-9._~!$&'()*+,;=:@/?%-]*$`)

// parameters matches a semicolon and what follows it in a segment of a path. Some servers remove
// this.
var parameters = regexp.MustCompile(`;[^/]*`)

// PathProblem returns what is wrong with a path, which begins with a slash, or with its query. A
// valid path is below the base URL for each server, also for one that unescapes twice, treats a
// backslash as a slash, or removes what follows a semicolon in a segment.
func PathProblem(escaped, query string) string {
	below, err := url.PathUnescape(escaped)
	plain := parameters.ReplaceAllString(below, "")
	return cmp.Or(
		when(err != nil || !unescaped.MatchString(escaped+query), "has a character that is not escaped"),
		when(strings.Count(below, "/") != strings.Count(escaped, "/"), "has an escaped slash"),
		when(strings.ContainsAny(below, "%\\") || strings.ContainsFunc(below, unicode.IsControl),
			"has an escaped percent sign, backslash or control character"),
		when(path.Clean(plain) != strings.TrimSuffix(plain, "/"), "has the segment ., .. or an empty one"),
	)
}

// when returns problem if applies is true, else the empty string.
func when(applies bool, problem string) string {
	if applies {
		return problem
	}
	return ""
}
