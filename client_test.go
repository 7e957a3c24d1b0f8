package petstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
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
			_, err := petstore.NewClient(url, testKey)
			assert.NoError(t, err, url)
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

func TestNewClientFromEnv(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte("  "+testKey+"\n"), 0o600))
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for name, c := range map[string]struct{ url, key, file, fault string }{
		"key":            {"https://service.test/v1", testKey, "", ""},
		"file":           {"https://service.test/v1", "", file, ""},
		"no url":         {"", testKey, "", "PETSTORE_BASE_URL: is not set"},
		"no key":         {"https://service.test/v1", "", "", "PETSTORE_API_KEY: is not set, nor is PETSTORE_API_KEY_FILE"},
		"both":           {"https://service.test/v1", testKey, file, "PETSTORE_API_KEY_FILE: is set although PETSTORE_API_KEY is set"},
		"no such file":   {"https://service.test/v1", "", "/nowhere/" + testKey, "PETSTORE_API_KEY_FILE: no such file"},
		"an empty file":  {"https://service.test/v1", "", empty, "names an empty file"},
		"a wrong option": {"https://service.test/v1", testKey, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PETSTORE_BASE_URL", c.url)
			t.Setenv("PETSTORE_API_KEY", c.key)
			t.Setenv("PETSTORE_API_KEY_FILE", c.file)
			client, err := petstore.NewClientFromEnv()
			if c.fault == "" {
				require.NoError(t, err)
				assert.Equal(t, "petstore.Client(https://service.test/v1)", client.String())
				return
			}
			require.ErrorContains(t, err, c.fault)
			assert.NotContains(t, err.Error(), testKey)
		})
	}
	t.Setenv("PETSTORE_BASE_URL", "https://service.test/v1")
	_, err := petstore.NewClientFromEnv(petstore.WithMaxWait(-1))
	require.ErrorContains(t, err, "WithMaxWait")
	t.Setenv("PETSTORE_API_KEY_FILE", "/nowhere")
	_, err = petstore.NewClientFromEnv()
	require.ErrorIs(t, err, fs.ErrNotExist)
	t.Setenv("PETSTORE_API_KEY_FILE", "")
	_, err = petstore.NewClientFromEnv(petstore.WithAPIKeyFunc(
		func(context.Context) (string, error) { return testKey, nil }))
	require.NoError(t, err, "a key function needs no key in the environment")
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

func TestWithAPIKeyFunc(t *testing.T) {
	t.Run("is called before each attempt", func(t *testing.T) {
		keys := 0
		client, err := petstore.NewClient("https://service.test/v1", "", petstore.WithLimiter(nil),
			petstore.WithHTTPClient(&http.Client{Transport: &service{responders: []responder{
				wantKey(t, "key-1", 503), wantKey(t, "key-2", 200),
			}}}),
			petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: time.Nanosecond}),
			petstore.WithAPIKeyFunc(func(context.Context) (string, error) {
				keys++
				return fmt.Sprintf("key-%d", keys), nil
			}))
		require.NoError(t, err)
		result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Equal(t, 2, result.Attempts)
	})
	t.Run("fails the call with nothing sent if it fails", func(t *testing.T) {
		boom := errors.New("vault is sealed")
		for name, f := range map[string]func(context.Context) (string, error){
			"an error": func(context.Context) (string, error) { return "", boom },
			"no token": func(context.Context) (string, error) { return "hush hush", nil },
		} {
			service := &service{responders: []responder{status(200, `[]`)}}
			client, err := petstore.NewClient("https://service.test/v1", "", petstore.WithLimiter(nil),
				petstore.WithHTTPClient(&http.Client{Transport: service}), petstore.WithAPIKeyFunc(f))
			require.NoError(t, err)
			_, err = client.CreatePet(t.Context(), newPet())
			transport, ok := errors.AsType[*petstore.TransportError](err)
			require.True(t, ok, "%s: %T", name, err)
			assert.False(t, transport.Sent)
			assert.Equal(t, name == "an error", errors.Is(err, boom))
			assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
			assert.NotContains(t, err.Error(), "hush")
			assert.Empty(t, service.sent())
		}
	})
}

func wantKey(t *testing.T, key string, code int) responder {
	return func(req *http.Request) (*http.Response, error) {
		assert.Equal(t, "Bearer "+key, req.Header.Get("Authorization"))
		return response(req, code, strings.NewReader(`[]`)), nil
	}
}

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

func TestWithHTTPClient(t *testing.T) {
	hc := &http.Client{Transport: &service{responders: []responder{status(200, `[]`)}}, Timeout: time.Second}
	before := *hc
	client, err := petstore.NewClient("https://service.test/v1", testKey, petstore.WithHTTPClient(hc))
	require.NoError(t, err)
	_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	assert.Equal(t, before.Transport, hc.Transport)
	assert.Nil(t, hc.CheckRedirect)
	assert.Equal(t, time.Second, hc.Timeout)
}

func TestClientBaseURL(t *testing.T) {
	t.Parallel()
	client, err := petstore.NewClient("https://service.test:8443/v1/", testKey)
	require.NoError(t, err)
	assert.Equal(t, "https://service.test:8443/v1", client.BaseURL())
	assert.Empty(t, new(petstore.Client).BaseURL())
	assert.Empty(t, (*petstore.Client)(nil).BaseURL())
}
