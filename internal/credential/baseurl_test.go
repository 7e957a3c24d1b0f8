package credential_test

import (
	"bufio"
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/credential"
)

// refusedURLs are base URLs with what is wrong with them.
var refusedURLs = map[string]string{
	"":                                 "does not start with https:// or http://",
	"service.test/v1":                  "does not start with https:// or http://",
	"//service.test/v1":                "does not start with https:// or http://",
	"ftp://service.test/v1":            "does not start with https:// or http://",
	"file:///v1":                       "does not start with https:// or http://",
	"https://service\xff.test/v1":      "is not a URL",
	"https:///v1":                      "has no host",
	"https://:443/v1":                  "has no host",
	"https:service.test/v1":            "has no host",
	"https://service.test:0/v1":        "has an invalid port",
	"https://service.test:65536/v1":    "has an invalid port",
	"https://service.test:/v1":         "has an invalid port",
	"https://service.test:port/v1":     "is not a URL",
	"https://s%zz/v1":                  "is not a URL",
	"https://s t/v1":                   "is not a URL",
	"https://service.test/v1\n":        "has white space around it",
	"https://user:pw@service.test/v1":  "has user information; pass the API key as apiKey",
	"https://user@service.test/v1":     "has user information; pass the API key as apiKey",
	"https://service.test/v1?x=hidden": "has a query",
	"https://service.test/v1?":         "has a query",
	"https://service.test/v1#hidden":   "has a fragment",
	"https://service.test/v1#":         "has a fragment",
	"https://service.test":             "does not end in the version prefix /v1",
	"https://service.test/":            "does not end in the version prefix /v1",
	"https://service.test/v2":          "does not end in the version prefix /v1",
	"https://service.test/v1/pets":     "does not end in the version prefix /v1",
	"https://service.test/v1//":        "has a path that is not clean",
	"https://service.test/x/../v1":     "has a path that is not clean",
	"https://service.test/%76%31":      "has a path that is not clean",
	"http://service.test/v1":           "is plain http to a host that is not loopback; see WithInsecureHTTP",
	"http://localhost.evil.test/v1":    "is plain http to a host that is not loopback; see WithInsecureHTTP",
	"http://127.0.0.1.evil.test/v1":    "is plain http to a host that is not loopback; see WithInsecureHTTP",
	"http://[::1%25lo]/v1":             "is plain http to a host that is not loopback; see WithInsecureHTTP",
	"http://localhoſt/v1":              "is plain http to a host that is not loopback; see WithInsecureHTTP",
	"http://localhost./v1":             "is plain http to a host that is not loopback; see WithInsecureHTTP",
}

var acceptedURLs = []string{
	"https://service.test/v1", "https://service.test/v1/", "https://service.test:8443/v1",
	"HTTPS://service.test/v1", "https://service.test/api/store/v1", "https://[2001:db8::1]/v1",
	"http://localhost/v1", "http://LOCALHOST:80/v1", "http://127.0.0.1:4010/v1", "http://127.9.9.9/v1",
	"http://[::1]:4010/v1", "http://[::ffff:127.0.0.1]/v1",
}

func TestParseBaseURL(t *testing.T) {
	for text, want := range refusedURLs {
		_, problem := credential.ParseBaseURL(text, false)
		assert.Equal(t, want, problem, text)
	}
	for _, text := range acceptedURLs {
		_, problem := credential.ParseBaseURL(text, false)
		assert.Empty(t, problem, text)
	}
	u, problem := credential.ParseBaseURL("http://Service.test:80/v1/", true)
	assert.Empty(t, problem)
	assert.Equal(t, "http://service.test:80/v1", u.String())
}

// FuzzParseBaseURL checks that an accepted base URL keeps its scheme, host, port and path, and that
// net/http can write and read a request to it. The text of a refusal is one of the table's, so that
// it cannot repeat the refused value.
func FuzzParseBaseURL(f *testing.F) {
	reasons := map[string]bool{}
	for text, reason := range refusedURLs {
		reasons[reason] = true
		f.Add(text, true)
	}
	for _, text := range []string{
		"https://[fe80::1%25eth0]/v1", "https://service.test/%2fv1", "https://sérvice.test/v1", "https://a\\@b/v1",
		"http://127.1/v1", "https://service.test/ü/v1", "https://service.test/a b/v1",
	} {
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, insecure bool) {
		got, problem := credential.ParseBaseURL(text, insecure)
		if problem != "" {
			assert.True(t, reasons[problem], problem)
			return
		}
		want, err := url.Parse(text)
		require.NoError(t, err)
		assert.True(t, want.Scheme == "https" || insecure || credential.IsLoopback(got.Hostname()), "the key is sent unencrypted")
		sent := got.JoinPath("pets")
		assert.Equal(t, want.Scheme+"://"+strings.ToLower(want.Host), sent.Scheme+"://"+sent.Host)
		assert.Equal(t, strings.TrimSuffix(want.Path, "/")+"/pets", sent.Path)
		var wire bytes.Buffer
		require.NoError(t, (&http.Request{Method: http.MethodGet, URL: sent, Header: http.Header{}}).Write(&wire))
		read, err := http.ReadRequest(bufio.NewReader(&wire))
		require.NoError(t, err)
		assert.Equal(t, sent.Path, read.URL.Path)
	})
}

func TestPathBelow(t *testing.T) {
	for _, text := range []string{
		"", "/", "?a=1", "//evil.test/x", "https://evil.test/x", "../admin", "pets/../../admin", "pets/..", "./pets", "pets/./7",
		"%2e%2e/admin", "pets%2f..%2f..", "pets/%252e%252e/x", "pets\\..\\x", "pets/%5c..", "..;/admin", "pets//7", "a b", "a#b",
		"a\r\nb", "%00", "%zz", "pets?a b", "pets?a\nb", "pets?a#b", "käse",
	} {
		path, query, _ := strings.Cut(text, "?")
		_, problem := credential.PathBelow(path, query)
		assert.NotEmpty(t, problem, text)
	}
	for escaped, want := range map[string]string{"pets": "/pets", "/pets/7": "/pets/7", "k%C3%A4se/a%20b/": "/käse/a b/", "a;b": "/a;b"} {
		path, problem := credential.PathBelow(escaped, "full=true&x=%20")
		assert.Equal(t, [2]string{want, ""}, [2]string{path, problem})
	}
}
