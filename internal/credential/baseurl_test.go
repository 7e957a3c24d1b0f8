package credential_test

import (
	"bufio"
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/credential"
)

// refusedURLs has base URLs by what is wrong with them.
var refusedURLs = map[string][]string{
	"does not start with https:// or http://": {
		"", "service.test/v1", "//service.test/v1", "ftp://service.test/v1", "file:///v1",
	},
	"is not a URL": {
		"https://service\xff.test/v1", "https://service.test:port/v1", "https://s%zz/v1", "https://s t/v1",
		"https://[fe80::1%25ü]/v1",
	},
	"has white space around it": {"https://service.test/v1\n"},
	"has no host":               {"https:///v1", "https://:443/v1", "https:service.test/v1"},
	"has an invalid port": {
		"https://service.test:0/v1", "https://service.test:65536/v1", "https://service.test:/v1",
	},
	"has user information; pass the API key as apiKey": {
		"https://user:pw@service.test/v1", "https://user@service.test/v1",
	},
	"has a query":    {"https://service.test/v1?x=hidden", "https://service.test/v1?"},
	"has a fragment": {"https://service.test/v1#hidden", "https://service.test/v1#"},
	"does not end in the version prefix /v1": {
		"https://service.test", "https://service.test/", "https://service.test/v2", "https://service.test/v1/pets",
	},
	"has a path that is not clean": {
		"https://service.test/v1//", "https://service.test/x/../v1", "https://service.test/%76%31",
	},
	"is plain http to a host that is not loopback; see WithInsecureHTTP": {
		"http://service.test/v1", "http://localhost.evil.test/v1", "http://127.0.0.1.evil.test/v1", "http://[::1%25lo]/v1",
		"http://localhoſt/v1", "http://localhost./v1",
	},
}

func TestParseBaseURL(t *testing.T) {
	for want, texts := range refusedURLs {
		for _, text := range texts {
			_, problem := credential.ParseBaseURL(text, false)
			assert.Equal(t, want, problem, text)
		}
	}
	for _, text := range []string{
		"https://service.test/v1", "https://service.test/v1/", "https://service.test:8443/v1",
		"HTTPS://service.test/v1", "https://service.test/api/store/v1", "https://[2001:db8::1]/v1",
		"http://localhost/v1", "http://LOCALHOST:80/v1", "http://127.0.0.1:4010/v1", "http://127.9.9.9/v1",
		"http://[::1]:4010/v1", "http://[::ffff:127.0.0.1]/v1",
	} {
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
	for _, text := range slices.Concat(slices.Collect(maps.Values(refusedURLs))...) {
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
			assert.Contains(t, refusedURLs, problem)
			return
		}
		want, err := url.Parse(text)
		require.NoError(t, err)
		private := want.Scheme == "https" || insecure || credential.IsLoopback(got.Hostname())
		assert.True(t, private, "the key is sent unencrypted")
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
		"", "?a=1", "//evil.test/x", "https://evil.test/x", "../admin", "pets/../../admin", "pets/..", "./pets",
		"pets/./7", "%2e%2e/admin", "pets/%252e%252e/x", "pets%2f7", "pets\\..\\x", "pets/%5c..", "..;/admin", "pets//7",
		"a b", "a#b", "a\r\nb", "%00", "%zz", "pets?a b", "pets?a\nb", "pets?a#b", "käse",
	} {
		path, query, _ := strings.Cut(text, "?")
		_, problem := credential.PathBelow(path, query)
		assert.NotEmpty(t, problem, text)
	}
	for escaped, want := range map[string]string{
		"pets": "/pets", "/pets/7": "/pets/7", "k%C3%A4se/a%20b/": "/käse/a b/", "a;b": "/a;b",
	} {
		path, problem := credential.PathBelow(escaped, "full=true&x=%20")
		assert.Equal(t, [2]string{want, ""}, [2]string{path, problem})
	}
}
