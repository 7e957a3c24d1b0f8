package petstore_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// The text of a refusal is one of these, so that it cannot repeat the refused value.
var (
	baseURLReasons = []string{
		"is not a URL", "has white space around it", "does not start with https:// or http://",
		"has user information; pass the API key as apiKey", "has no host", "has a host that is not UTF-8", "has an invalid port",
		"has a query", "has a fragment", "does not end in the version prefix /v1", "has a path that is not clean",
		"is plain http to a host that is not loopback; see WithInsecureHTTP",
	}
	keyReasons = []string{
		"is empty", "starts with the scheme; pass the key alone", "is not a bearer token",
		"has a character that a bearer token cannot have",
	}
)

// FuzzBaseURL compares NewClient with net/url and net/http: if it accepts a base URL, the request
// goes to its scheme, host and port, and net/http can parse it there.
func FuzzBaseURL(f *testing.F) {
	for _, url := range []string{
		"", "https://service.test/v1", "https://service.test/v1/", "HTTPS://service.test:8443/api/store/v1",
		"http://localhost/v1", "http://LOCALHOST:80/v1", "http://127.9.9.9/v1", "http://[::1]:4010/v1",
		"http://[::ffff:127.0.0.1]/v1", "https://[2001:db8::1]/v1", "https://[fe80::1%25eth0]/v1", "//service.test/v1",
		"https:///v1", "https://:443/v1", "https:service.test/v1", "https://service.test:0/v1",
		"https://service.test:65536/v1", "https://service.test:/v1", "https://s%zz/v1", "https://service.test/v1\n",
		"https://user:pw@service.test/v1", "https://service.test/v1?x=hidden", "https://service.test/v1?",
		"https://service.test/v1#hidden", "https://service.test/v1#", "https://service.test/v1//",
		"https://service.test/x/../v1", "https://service.test/%2fv1", "https://service.test/%76%31", "https://s t/v1",
		"https://sérvice.test/v1", "https://a\\@b/v1", "http://127.1/v1", "http://localhost.evil.test/v1",
		"http://service.test/v1", "ftp://service.test/v1", "https://service.test/ü/v1", "https://service.test/a b/v1",
	} {
		f.Add(url, false)
		f.Add(url, true)
	}
	f.Fuzz(func(t *testing.T, base string, insecure bool) {
		service := &service{responders: []responder{status(200, `[]`)}}
		opts := []petstore.Option{petstore.WithHTTPClient(&http.Client{Transport: service}), petstore.WithLimiter(nil)}
		if insecure {
			opts = append(opts, petstore.WithInsecureHTTP())
		}
		client, err := petstore.NewClient(base, testKey, opts...)
		if err != nil {
			argument, ok := errors.AsType[*petstore.ArgumentError](err)
			require.True(t, ok, "%T", err)
			assert.Equal(t, "baseURL", argument.Argument)
			assert.Contains(t, baseURLReasons, argument.Reason)
			return
		}
		want, err := url.Parse(base)
		require.NoError(t, err)
		assert.Nil(t, want.User)
		assert.Empty(t, want.RawQuery+want.Fragment)
		assert.True(t, want.Scheme == "https" || insecure || isLoopback(want.Hostname()), "the key is sent unencrypted")
		require.NoError(t, list(client))
		require.Len(t, service.sent(), 1)
		sent, err := url.Parse(service.sent()[0].url)
		require.NoError(t, err)
		assert.Equal(t, want.Scheme, sent.Scheme)
		assert.Equal(t, strings.ToLower(want.Host), sent.Host)
		assert.Equal(t, strings.TrimSuffix(want.Path, "/")+"/pets", sent.Path)
		checkOnTheWire(t, sent)
	})
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// checkOnTheWire checks that net/http can write a request to u and read it again.
func checkOnTheWire(t *testing.T, u *url.URL) {
	t.Helper()
	var wire bytes.Buffer
	req := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}
	require.NoError(t, req.Write(&wire))
	read, err := http.ReadRequest(bufio.NewReader(&wire))
	require.NoError(t, err, "%s", wire.String())
	assert.Equal(t, u.Path, read.URL.Path)
}

// bearerToken is the b64token of RFC 6750, section 2.1.
var bearerToken = regexp.MustCompile(`^[A-Za-z0-9\-._~+/]+=*$`)

// FuzzAPIKey compares NewClient with RFC 6750, and with the fake, which reads the header. The texts
// of a client and of its errors must not depend on the key.
func FuzzAPIKey(f *testing.F) {
	for _, key := range []string{
		"", " ", "k", "abcXYZ019-._~+/", "c2VjcmV0==", "hush hush", "hush\n", "hush\r\nX-Evil: 1", "hush\x00",
		"Schlüssel", "Bearer hush", "bearer hush", "hush\"", "hush,hush", "=", "==hush", "hush=hush", "petstore", "401",
	} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		valid := bearerToken.MatchString(key)
		client, err := petstore.NewClient("https://service.test/v1", key)
		if require.Equal(t, valid, err == nil, "%v", err); !valid {
			argument, ok := errors.AsType[*petstore.ArgumentError](err)
			require.True(t, ok, "%T", err)
			assert.Equal(t, "apiKey", argument.Argument)
			assert.Contains(t, keyReasons, argument.Reason)
		}
		other, err := petstore.NewClient("https://service.test/v1", "another")
		require.NoError(t, err)
		if valid {
			assert.Equal(t, fmt.Sprintf("%+v %#[1]v %[1]x", other), fmt.Sprintf("%+v %#[1]v %[1]x", client))
		}
		checkKeyOnTheOtherSide(t, key, valid)
	})
}

// checkKeyOnTheOtherSide sends a key from WithAPIKeyFunc to a service that knows the key, and to
// one that does not.
func checkKeyOnTheOtherSide(t *testing.T, key string, valid bool) {
	t.Helper()
	try := func(srv *fake.Server) error {
		defer srv.Close()
		client, err := petstore.NewClient("https://service.test/v1", "", petstore.WithLimiter(nil),
			petstore.WithHTTPClient(&http.Client{Transport: srv.Transport()}),
			petstore.WithAPIKeyFunc(func(context.Context) (string, error) { return key, nil }))
		require.NoError(t, err)
		err = list(client)
		assert.Len(t, srv.Requests(), map[bool]int{true: 1, false: 0}[valid])
		return err
	}
	if !valid {
		err := try(fake.NewServer())
		transport, ok := errors.AsType[*petstore.TransportError](err)
		require.True(t, ok, "%T", err)
		assert.Contains(t, keyReasons, strings.TrimPrefix(transport.Err.Error(), "API key: "))
		return
	}
	require.NoError(t, try(fake.NewServer(fake.WithKey(key, fake.PlanFree))))
	const refused = `petstore: listPets: 401 unauthorized: "the API key is not known to the server, ` +
		`or was revoked; every operation requires a valid key as a bearer token (section 5)"`
	if key != fake.DefaultAPIKey && !strings.Contains(refused, key) {
		err := try(fake.NewServer())
		require.ErrorIs(t, err, petstore.ErrUnauthorized)
		assert.EqualError(t, err, refused)
	}
}
