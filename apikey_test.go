package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

func TestWithAPIKeyFuncAfter401(t *testing.T) {
	for name, c := range map[string]struct {
		keys      []string
		responses []responder
		sent      int
		attempts  int
		fails     bool
	}{
		"another key":                  {[]string{"old-key", "new-key"}, []responder{status(401, ""), status(201, onePet)}, 2, 2, false},
		"the same key":                 {[]string{"old-key", "old-key"}, []responder{status(401, "")}, 1, 1, true},
		"another key, refused as well": {[]string{"old-key", "new-key"}, []responder{status(401, ""), status(401, "")}, 2, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			var refused []bool
			service := &service{responders: c.responses}
			client, err := petstore.NewClient("https://service.test/v1", "", petstore.WithAPIKeyFunc(
				func(ctx context.Context) (string, error) {
					call, _ := petstore.CallFromContext(ctx)
					refused = append(refused, call.KeyRefused)
					return c.keys[len(refused)-1], nil
				}), petstore.WithHTTPClient(&http.Client{Transport: service}))
			require.NoError(t, err)
			result, err := client.CreatePet(t.Context(), newPet())
			assert.Len(t, service.sent(), c.sent)
			assert.Equal(t, []bool{false, true}, refused)
			if !c.fails {
				require.NoError(t, err)
				assert.Equal(t, c.attempts, result.Attempts)
				return
			}
			require.ErrorIs(t, err, petstore.ErrUnauthorized)
			require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
			e, _ := errors.AsType[*petstore.APIError](err)
			assert.Equal(t, c.attempts, e.Attempts)
		})
	}
	client, service := scripted(t, []responder{status(401, "")})
	require.ErrorIs(t, list(client), petstore.ErrUnauthorized)
	assert.Len(t, service.sent(), 1, "a fixed key is not tried again")
}

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
			assert.Zero(t, transport.Attempts)
			assert.Equal(t, name == "an error", errors.Is(err, boom))
			assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
			assert.ErrorIs(t, err, petstore.ErrNotSent)
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

// replaceKey puts a file with a key in the place of another, as if it had been there for an hour.
func replaceKey(t *testing.T, file, key string) {
	t.Helper()
	fresh := file + ".new"
	require.NoError(t, os.WriteFile(fresh, []byte(key+"\n"), 0o600))
	hourAgo := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(fresh, hourAgo, hourAgo))
	require.NoError(t, os.Rename(fresh, file))
}

func TestAPIKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	replaceKey(t, file, "key-1")
	service := &service{responders: []responder{wantKey(t, "key-1", 200), wantKey(t, "key-2", 200), wantKey(t, "key-2", 401), wantKey(t, "key-3", 200)}}
	t.Setenv("PETSTORE_BASE_URL", "https://service.test/v1")
	t.Setenv("PETSTORE_API_KEY_FILE", file)
	client, err := petstore.NewClientFromEnv(petstore.WithLimiter(nil), petstore.WithHTTPClient(&http.Client{Transport: service}))
	require.NoError(t, err)
	require.NoError(t, list(client))
	replaceKey(t, file, "key-2")
	require.NoError(t, list(client), "the file has changed")

	info, err := os.Stat(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("key-3\n"), 0o600))
	require.NoError(t, os.Chtimes(file, info.ModTime(), info.ModTime())) // unnoticed
	require.NoError(t, list(client), "the service has refused the key")

	require.NoError(t, os.Remove(file))
	err = list(client)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, err, petstore.ErrNotSent)
	assert.ErrorContains(t, err, "petstore: listPets: API key file: no such file")
	assert.NotContains(t, err.Error(), file)
}

func TestKeyRefusedIsAboutTheLastRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refused []bool
		keys := []string{"key-one", "key-two", "key-two"}
		s := &service{responders: []responder{status(401, ""), status(503, ""), status(200, "[]")}}
		client, err := petstore.NewClient("https://service.test/v1", "", petstore.WithLimiter(nil),
			petstore.WithHTTPClient(&http.Client{Transport: s}),
			petstore.WithAPIKeyFunc(func(ctx context.Context) (string, error) {
				call, _ := petstore.CallFromContext(ctx)
				refused = append(refused, call.KeyRefused)
				return keys[len(refused)-1], nil
			}))
		require.NoError(t, err)
		require.NoError(t, list(client))
		assert.Equal(t, []bool{false, true, false}, refused)
	})
}

// unwrapsItself is a transport whose Unwrap returns itself.
type unwrapsItself struct{ http.RoundTripper }

func (u *unwrapsItself) Unwrap() http.RoundTripper { return u }

type limiterUnwrapsItself struct{ fixedLimiter }

func (l *limiterUnwrapsItself) Unwrap() petstore.Limiter { return l }

func TestUnwrapOfItself(t *testing.T) {
	_, err := petstore.NewClient("https://service.test/v1", testKey, petstore.WithHTTPClient(&http.Client{Transport: new(unwrapsItself)}))
	require.NoError(t, err)
	client, _ := scripted(t, nil, petstore.WithLimiter(new(limiterUnwrapsItself)))
	client.ReopenLimit()
}
