package petstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/loopback"
)

func TestNewClient(t *testing.T) {
	t.Run("refuses an invalid base URL and does not repeat it", func(t *testing.T) {
		for url, reason := range map[string]string{
			"":                                 "does not start with https",
			"service.test/v1":                  "does not start with https",
			"//service.test/v1":                "does not start with https",
			"ftp://service.test/v1":            "does not start with https",
			"file:///v1":                       "does not start with https",
			"https://service\xff.test/v1":      "has a host that is not UTF-8",
			"https:///v1":                      "has no host",
			"https://:443/v1":                  "has no host",
			"https:service.test/v1":            "has no host",
			"https://service.test:0/v1":        "has an invalid port",
			"https://service.test:65536/v1":    "has an invalid port",
			"https://service.test:/v1":         "has an invalid port",
			"https://service.test:port/v1":     "is not a URL",
			"https://s%zz/v1":                  "is not a URL",
			"https://service.test/v1\n":        "has white space around it",
			"https://user:pw@service.test/v1":  "has user information",
			"https://user@service.test/v1":     "has user information",
			"https://service.test/v1?x=hidden": "has a query",
			"https://service.test/v1?":         "has a query",
			"https://service.test/v1#hidden":   "has a fragment",
			"https://service.test/v1#":         "has a fragment",
			"https://service.test":             "does not end in the version prefix",
			"https://service.test/":            "does not end in the version prefix",
			"https://service.test/v2":          "does not end in the version prefix",
			"https://service.test/v1/pets":     "does not end in the version prefix",
			"https://service.test/v1//":        "is not clean",
			"https://service.test/x/../v1":     "is not clean",
			"https://service.test/%76%31":      "is not clean",
			"http://service.test/v1":           "plain http",
			"http://localhost.evil.test/v1":    "plain http",
			"http://127.0.0.1.evil.test/v1":    "plain http",
		} {
			t.Run(url, func(t *testing.T) {
				client, err := petstore.NewClient(url, testKey)
				require.Nil(t, client)
				argument, ok := errors.AsType[*petstore.ArgumentError](err)
				require.True(t, ok, "%T", err)
				assert.Equal(t, "baseURL", argument.Argument)
				assert.Contains(t, argument.Reason, reason)
				for _, secret := range []string{"pw", "hidden", "user@", "evil", testKey} {
					assert.NotContains(t, err.Error(), secret)
				}
			})
		}
	})
	t.Run("accepts base URLs of a service and of loopback", func(t *testing.T) {
		for _, url := range []string{
			"https://service.test/v1", "https://service.test/v1/", "https://service.test:8443/v1",
			"HTTPS://service.test/v1", "https://service.test/api/store/v1", "https://[2001:db8::1]/v1",
			"http://localhost/v1", "http://LOCALHOST:80/v1", "http://127.0.0.1:4010/v1", "http://127.9.9.9/v1",
			"http://[::1]:4010/v1", "http://[::ffff:127.0.0.1]/v1",
		} {
			t.Run(url, func(t *testing.T) {
				_, err := petstore.NewClient(url, testKey)
				assert.NoError(t, err, url)
			})
		}
		_, err := petstore.NewClient("http://service.test/v1", testKey, petstore.WithInsecureHTTP())
		assert.NoError(t, err)
	})
	t.Run("refuses a key that cannot be a bearer token and does not repeat it", func(t *testing.T) {
		for _, key := range []string{
			"", " ", "hush hush", "hush\n", "hush\r\nX-Evil: 1", "hush\x00", "Schlüssel-hush", "Bearer hush",
			"bearer hush", "hush\"", "hush,hush", "=", "==hush", "hush=hush",
		} {
			_, err := petstore.NewClient("https://service.test/v1", key)
			argument, ok := errors.AsType[*petstore.ArgumentError](err)
			require.True(t, ok, "%q: %T", key, err)
			assert.Equal(t, "apiKey", argument.Argument)
			assert.NotContains(t, err.Error(), "hush")
		}
		for _, key := range []string{"k", "abcXYZ019-._~+/", "c2VjcmV0==", strings.Repeat("x", 4096)} {
			_, err := petstore.NewClient("https://service.test/v1", key)
			assert.NoError(t, err, key)
		}
	})
	t.Run("refuses invalid options by name", func(t *testing.T) {
		for name, opt := range map[string]petstore.Option{
			"option 1":             nil,
			"WithHTTPClient":       petstore.WithHTTPClient(nil),
			"WithUserAgent":        petstore.WithUserAgent("x\r\ny"),
			"WithAPIKeyFunc":       petstore.WithAPIKeyFunc(nil),
			"WithMaxResponseBytes": petstore.WithMaxResponseBytes(0),
			"WithMaxWait":          petstore.WithMaxWait(-1),
			"WithAttemptTimeout":   petstore.WithAttemptTimeout(-1),
			"WithCallTimeout":      petstore.WithCallTimeout(-1),
			"WithRetryPolicy":      petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: -1}),
			"WithHeader":           petstore.WithHeader("a b", "x"),
		} {
			_, err := petstore.NewClient("https://service.test/v1", testKey, opt)
			argument, ok := errors.AsType[*petstore.ArgumentError](err)
			require.True(t, ok, "%s: %T", name, err)
			assert.Equal(t, name, argument.Argument)
		}
		_, err := petstore.NewClient("https://service.test/v1", testKey,
			petstore.WithAPIKeyFunc(func(context.Context) (string, error) { return testKey, nil }))
		assert.ErrorContains(t, err, "apiKey: is set although WithAPIKeyFunc is used")
		_, err = petstore.NewClient("https://service.test/v1", testKey,
			petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 2, MaxDelay: 1}))
		assert.ErrorContains(t, err, "MaxDelay below its BaseDelay")
	})
}

func TestWithHeader(t *testing.T) {
	for _, key := range []string{"authorization", "Host", "Content-Length", "content-type", "TE", "Connection", "", "a:b"} {
		_, err := petstore.NewClient("https://service.test/v1", testKey, petstore.WithHeader(key, "x"))
		assert.Error(t, err, key)
	}
	client, service := scripted(t, []responder{status(200, `[]`)}, petstore.WithHeader("X-Team", "core"))
	_, err := client.ListPets(t.Context(), petstore.ListPetsParams{}, petstore.WithHeader("x-team", "edge"))
	require.NoError(t, err)
	_, err = client.ListPets(t.Context(), petstore.ListPetsParams{}, petstore.WithHeader("x-trace", "a\nb"))
	argument, ok := errors.AsType[*petstore.ArgumentError](err)
	require.True(t, ok)
	assert.Equal(t, "WithHeader", argument.Argument)
	_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	require.Len(t, service.sent(), 2)
	assert.Equal(t, []string{"edge"}, service.sent()[0].header["X-Team"], "a call's header overrides the client's")
	assert.Equal(t, []string{"core"}, service.sent()[1].header["X-Team"], "and does not change it")
}

func TestClientFormat(t *testing.T) {
	t.Run("shows the base URL and never the key", func(t *testing.T) {
		client, err := petstore.NewClient("https://service.test/v1/", testKey, petstore.WithHeader("X-Proxy-Token", "tok-1234567"))
		require.NoError(t, err)
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
			text := fmt.Sprintf(format, client)
			assert.NotContains(t, text, testKey, format)
			assert.NotContains(t, text, "tok-1234567", format)
		}
		assert.Equal(t, "petstore.Client(https://service.test/v1)", fmt.Sprint(client))
		assert.Equal(t, "petstore.Client()", (*petstore.Client)(nil).String())
		text, err := json.Marshal(client)
		require.NoError(t, err)
		assert.JSONEq(t, `{}`, string(text))
		var log strings.Builder
		slog.New(slog.NewJSONHandler(&log, nil)).Info("made", "client", client)
		assert.Contains(t, log.String(), `"client":"petstore.Client(https://service.test/v1)"`)
	})
	t.Run("a dump of a used client does not contain the key", func(t *testing.T) {
		client, _ := scripted(t, []responder{status(200, `[]`)})
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		inner := &recordingT{}
		assert.Equal(inner, struct{}{}, client) // testify dumps what it compares
		require.NotEmpty(t, inner.text)
		assert.NotContains(t, inner.text, testKey)
		assert.NotContains(t, inner.text, "Bearer")
	})
}

type recordingT struct{ text string }

func (r *recordingT) Errorf(format string, args ...any) { r.text += fmt.Sprintf(format, args...) }

func TestClientRateLimit(t *testing.T) {
	client, _ := scripted(t, []responder{status(200, `[]`, quota(60, 41, time.Minute)...), status(200, `[]`)})
	assert.True(t, client.RateLimit().IsZero())
	for range 2 {
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
	}
	assert.Equal(t, 41, client.RateLimit().Remaining, "a response without headers changes nothing")
	assert.True(t, (*petstore.Client)(nil).RateLimit().IsZero())
}

func TestClientBaseURL(t *testing.T) {
	t.Parallel()
	client, err := petstore.NewClient("https://service.test:8443/v1/", testKey)
	require.NoError(t, err)
	assert.Equal(t, "https://service.test:8443/v1", client.BaseURL())
	assert.Empty(t, new(petstore.Client).BaseURL())
	assert.Empty(t, (*petstore.Client)(nil).BaseURL())
}

func TestNewClientLocalhost(t *testing.T) {
	addresses, err := net.DefaultResolver.LookupHost(t.Context(), "localhost")
	if err != nil || !slices.Contains(addresses, strings.Trim(loopback.Host(t), "[]")) {
		t.Skip("localhost is not the loopback interface here:", addresses, err)
	}
	t.Setenv("HTTP_PROXY", "http://proxy.test:1")
	server := fake.NewTestServer(t)
	_, port, err := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(server.URL(), "http://"), "/v1"))
	require.NoError(t, err)
	for _, host := range []string{"LOCALHOST", "Localhost", "localhost"} {
		client, err := petstore.NewClient("http://"+host+":"+port+"/v1", server.APIKey(),
			petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
		require.NoError(t, err)
		assert.NoError(t, list(client), host)
		assert.Equal(t, "http://localhost:"+port+"/v1", client.BaseURL())
	}
	for _, base := range []string{"http://[::1%25lo]/v1", "http://localhoſt/v1", "http://localhost./v1"} {
		_, err := petstore.NewClient(base, testKey)
		assert.ErrorContains(t, err, "not loopback", base)
	}
}
