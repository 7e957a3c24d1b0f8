package credential_test

import (
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/credential"
)

// The tests of Key and From, and the tests that no output shows a key, are in package petstore.
func TestKeyProblem(t *testing.T) {
	const other, scheme = "has a character that a bearer token cannot have", "starts with the scheme; pass the key alone"
	for key, want := range map[string]string{
		"": "is empty", "k": "", "abcXYZ019-._~+/": "", "c2VjcmV0==": "", strings.Repeat("x", 4096): "",
		"Bearer hush": scheme, "bearer hush": scheme, "bearer ": scheme,
		" ": other, "hush hush": other, "hush\n": other, "hush\r\nX-Evil: 1": other, "hush\x00": other, "Schlüssel": other,
		"hush\"": other, "hush,hush": other, "=": other, "==hush": other, "hush=hush": other, "\xff": other,
	} {
		assert.Equal(t, want, credential.KeyProblem(key), "%q", key)
	}
}

func TestHeaderProblem(t *testing.T) {
	for s, valid := range map[string][2]bool{ // as a name, as a value
		"X-Team": {true, true}, "!#$%&'*+-.^_`|~": {true, true}, "": {false, true}, "a b": {false, true},
		"a:b": {false, true}, "é": {false, true}, "a\tb": {false, true}, "a\nb": {false, false},
		"a\x00": {false, false}, "a\x7f": {false, false},
	} {
		name, value := credential.HeaderProblem(s, "x"), credential.HeaderProblem("X", s)
		assert.Equal(t, valid, [2]bool{name == "", value == ""}, "%q", s)
	}
}

// TestAPIKeyFile of package petstore reads keys.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hush")
	_, err := credential.ReadFile(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.NotContains(t, err.Error(), "hush")
}

// refusedURLs has base URLs by what is wrong with them.
var refusedURLs = map[string][]string{
	"is not set": {""}, "does not start with https:// or http://": {"s.test/v1", "//s.test/v1", "ftp://s.test/v1"},
	"is not a URL":              {"https://s.test:port/v1", "https://s%zz/v1", "https://s t/v1"},
	"has white space around it": {"https://s.test/v1\n"},
	"has no host":               {"https:///v1", "https://:443/v1", "https:s.test/v1"},
	"has user information; pass the API key as apiKey": {"https://user:hidden@s.test/v1", "https://user@s.test/v1"},
	"has a query":                            {"https://s.test/v1?x=hidden", "https://s.test/v1?"},
	"has a fragment":                         {"https://s.test/v1#hidden", "https://s.test/v1#"},
	"does not end in the version prefix /v1": {"https://s.test", "https://s.test/v2", "https://s.test/v1/pets"},
	"has a path that is not clean":           {"https://s.test/v1//", "https://s.test/x/../v1", "https://s.test/%76%31"},
	"is plain http to a host that is not loopback; see WithInsecureHTTP": {
		"http://s.test/v1", "http://localhost.evil.test/v1", "http://127.0.0.1.evil.test/v1",
		"http://[::1%25lo]/v1", "http://localhoſt/v1", "http://10.0.0.1/v1",
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
		"http://localhost/v1", "http://LOCALHOST:80/v1", "http://127.9.9.9:4010/v1", "http://[::1]:4010/v1",
	} {
		_, problem := credential.ParseBaseURL(text, false)
		assert.Empty(t, problem, text)
	}
	u, problem := credential.ParseBaseURL("http://Service.test:80/v1/", true)
	assert.Empty(t, problem)
	assert.Equal(t, "http://service.test:80/v1", u.String())
}

// FuzzParseBaseURL checks that an accepted base URL keeps its scheme, host and path in the URLs of
// requests. The text of a refusal must be a key of refusedURLs, so that no refusal repeats the refused
// value.
func FuzzParseBaseURL(f *testing.F) {
	for _, text := range slices.Concat(slices.Collect(maps.Values(refusedURLs))...) {
		f.Add(text, true)
	}
	for _, text := range []string{
		"https://a/%2fv1", "https://a\\@b/v1", "http://127.1/v1", "https://[::1]/ü b/v1", "http://0/%00/v1", "//[]:0 ",
		"http://é.\xd5./v1", "http://0++++++++/v1", "A:/++++++++", "https://[::%25\x87]/v1", "//:\ue780\u0380",
	} {
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, insecure bool) {
		base, problem := credential.ParseBaseURL(text, insecure)
		if problem != "" {
			assert.Contains(t, refusedURLs, problem)
			return
		} else if strings.Contains(base.Host, "%") {
			t.Skip() // a URL with an IPv6 zone, written as text, is not always valid
		}
		want, err := url.Parse(text)
		require.NoError(t, err)
		req, err := http.NewRequest(http.MethodGet, base.JoinPath("pets").String(), nil)
		require.NoError(t, err)
		got := req.URL
		assert.True(t, want.Scheme == "https" || insecure || credential.IsLoopback(got.Hostname()), "not encrypted")
		host := strings.TrimSuffix(strings.ToLower(want.Host), ":") // an empty port is the default one
		assert.Equal(t, want.Scheme+"://"+host, got.Scheme+"://"+got.Host)
		assert.Equal(t, strings.TrimSuffix(want.Path, "/")+"/pets", got.Path)
		assert.Nil(t, got.User)
	})
}

func TestPathProblem(t *testing.T) {
	for _, text := range []string{
		"", "?a=1", "//evil.test/x", "https://evil.test/x", "../admin", "pets/../../admin", "pets/..", "./pets",
		"pets/./7", "%2e%2e/admin", "pets/%252e%252e/x", "pets%2f7", "pets\\..\\x", "pets/%5c..", "pets//7", "..;/admin", "pets/..;x=1/admin",
		"a b", "a#b", "a\r\nb", "%00", "%zz", "pets?a b", "pets?a\nb", "pets?a#b", "käse",
	} {
		path, query, _ := strings.Cut(text, "?")
		assert.NotEmpty(t, credential.PathProblem("/"+path, query), text)
	}
	for _, escaped := range []string{"/pets", "/pets/7", "/k%C3%A4se/a%20b/", "/a;b"} {
		assert.Empty(t, credential.PathProblem(escaped, "full=true&x=%20"))
	}
}
