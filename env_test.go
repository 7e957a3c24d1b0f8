package petstore_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"io/fs"
	"path/filepath"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
	"github.com/petstore/petstore-go/ratelimit"
)

func TestNewClientFromEnv(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "key")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	const base = "https://service.test/v1"
	for name, c := range map[string]struct{ base, key, file, insecure, processes, want string }{
		"key":           {base: base, key: testKey},
		"file":          {base: base, file: file("  " + testKey + "\n")},
		"insecure":      {base: "http://service.test/v1", key: testKey, insecure: "1"},
		"no base URL":   {key: testKey, want: "PETSTORE_BASE_URL: is not set"},
		"base URL":      {base: "http://service.test/v1", key: testKey, want: "PETSTORE_BASE_URL: is plain http"},
		"no key":        {base: base, want: "PETSTORE_API_KEY: is not set, nor is PETSTORE_API_KEY_FILE"},
		"both":          {base: base, key: testKey, file: file(""), want: "PETSTORE_API_KEY_FILE: is set although PETSTORE_API_KEY is set"},
		"no such file":  {base: base, file: "/nowhere/" + testKey, want: "PETSTORE_API_KEY_FILE: no such file"},
		"an empty file": {base: base, file: file(""), want: "PETSTORE_API_KEY_FILE: is empty"},
		"a wrong key":   {base: base, key: "two words", want: "PETSTORE_API_KEY: has a character"},
		"a wrong file":  {base: base, file: file("two words"), want: "PETSTORE_API_KEY_FILE: has a character"},
		"not 0 or 1":    {base: base, key: testKey, insecure: "yes", want: "PETSTORE_INSECURE_HTTP: is neither 0 nor 1"},
		"processes":     {base: base, key: testKey, processes: "four", want: "PETSTORE_PROCESSES: is not a number of processes"},
		"no processes":  {base: base, key: testKey, processes: "0", want: "PETSTORE_PROCESSES: is not a number of processes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PETSTORE_BASE_URL", c.base)
			t.Setenv("PETSTORE_API_KEY", c.key)
			t.Setenv("PETSTORE_API_KEY_FILE", c.file)
			t.Setenv("PETSTORE_INSECURE_HTTP", c.insecure)
			t.Setenv("PETSTORE_PROCESSES", c.processes)
			client, err := petstore.NewClientFromEnv()
			if c.want == "" {
				require.NoError(t, err)
				assert.Equal(t, "petstore.Client("+c.base+")", client.String())
				return
			}
			require.ErrorContains(t, err, c.want)
			require.ErrorIs(t, err, petstore.ErrInvalidArgument)
			assert.Equal(t, name == "no such file", errors.Is(err, fs.ErrNotExist))
			assert.NotContains(t, err.Error(), testKey)
			assert.NotContains(t, err.Error(), "two words")
		})
	}
	t.Setenv("PETSTORE_BASE_URL", base)
	_, err := petstore.NewClientFromEnv(petstore.WithMaxWait(-1))
	require.ErrorContains(t, err, "WithMaxWait")
	_, err = petstore.NewClientFromEnv(petstore.WithAPIKeyFunc(
		func(context.Context) (string, error) { return testKey, nil }))
	require.NoError(t, err, "a key function needs no key in the environment")
}

func TestNewClientFromEnvProcesses(t *testing.T) {
	t.Setenv("PETSTORE_BASE_URL", "https://service.test/v1")
	t.Setenv("PETSTORE_API_KEY", testKey)
	t.Setenv("PETSTORE_PROCESSES", "4")
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		var processes int
		client, err := petstore.NewClientFromEnv(petstore.WithHTTPClient(server.HTTPClient()), petstore.WithTrace(&petstore.ClientTrace{
			LimitClosed: func(_ context.Context, _ petstore.Call, l ratelimit.Lockout) { processes = l.Processes },
		}))
		require.NoError(t, err)
		server.BanKey(testKey, time.Hour)
		require.Error(t, list(client))
		assert.Equal(t, 4, processes)
	}, fake.WithKey(testKey, fake.PlanFree))
	_, err := petstore.NewClientFromEnv(petstore.WithLimiter(nil))
	require.NoError(t, err, "an option overrides the variable")
}

func TestAPIKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	write := func(key string) { require.NoError(t, os.WriteFile(file, []byte(key+"\n"), 0o600)) }
	write("key-1")
	rotates := func(r *http.Request) (*http.Response, error) {
		write("key-3")
		return status(401, ``)(r)
	}
	service := &service{responders: []responder{status(200, `[]`), status(200, `[]`), rotates, status(200, `[]`)}}
	t.Setenv("PETSTORE_BASE_URL", "https://service.test/v1")
	t.Setenv("PETSTORE_API_KEY_FILE", file)
	client, err := petstore.NewClientFromEnv(petstore.WithLimiter(nil), petstore.WithHTTPClient(&http.Client{Transport: service}))
	require.NoError(t, err)
	require.NoError(t, list(client))
	write("key-2")
	require.NoError(t, list(client))
	require.NoError(t, list(client), "the service has refused the key, and there is another one")
	for n, key := range []string{"key-1", "key-2", "key-2", "key-3"} {
		assert.Equal(t, "Bearer "+key, service.sent()[n].header.Get("Authorization"))
	}
	require.NoError(t, os.Remove(file))
	err = list(client)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, err, petstore.ErrNotSent)
	assert.ErrorContains(t, err, "petstore: listPets: API key file: no such file")
}
