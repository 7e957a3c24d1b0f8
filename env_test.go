package petstore_test

import (
	"context"
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
	"github.com/petstore/petstore-go/fake"
)

func TestNewClientFromEnvKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	t.Setenv("PETSTORE_BASE_URL", "https://service.test/v1")
	t.Setenv("PETSTORE_API_KEY_FILE", file)
	require.NoError(t, os.WriteFile(file, []byte(testKey+strings.Repeat("\n", 64<<10-len(testKey))), 0o600))
	_, err := petstore.NewClientFromEnv()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(testKey+strings.Repeat("\n", 64<<10)), 0o600))
	_, err = petstore.NewClientFromEnv()
	assert.ErrorContains(t, err, "more than 64 KiB")
	if _, err := os.Stat("/dev/zero"); err == nil {
		t.Setenv("PETSTORE_API_KEY_FILE", "/dev/zero")
		_, err = petstore.NewClientFromEnv()
		assert.ErrorContains(t, err, "more than 64 KiB")
	}
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
		"an empty file":  {"https://service.test/v1", "", empty, "PETSTORE_API_KEY_FILE: is empty"},
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

func TestNewClientFromEnvErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte("two words"), 0o600))
	for name, c := range map[string]struct{ base, key, file, insecure, processes, want string }{
		"base URL":   {base: "http://service.test/v1", key: testKey, want: "PETSTORE_BASE_URL: is plain http"},
		"blank":      {base: "https://service.test/v1 ", key: testKey, want: "PETSTORE_BASE_URL: has white space around it"},
		"key":        {base: "https://service.test/v1", key: "two words", want: "PETSTORE_API_KEY: has a character"},
		"key's file": {base: "https://service.test/v1", file: file, want: "PETSTORE_API_KEY_FILE: has a character"},
		"insecure":   {base: "http://service.test/v1", key: testKey, insecure: "yes", want: "PETSTORE_INSECURE_HTTP: is neither 0 nor 1"},
		"processes":  {base: "https://service.test/v1", key: testKey, processes: "four", want: "PETSTORE_PROCESSES: is not a number of processes"},
		"none":       {base: "https://service.test/v1", key: testKey, processes: "0", want: "PETSTORE_PROCESSES: is not a number of processes"},
		"allowed":    {base: "http://service.test/v1", key: testKey, insecure: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PETSTORE_BASE_URL", c.base)
			t.Setenv("PETSTORE_API_KEY", c.key)
			t.Setenv("PETSTORE_API_KEY_FILE", c.file)
			t.Setenv("PETSTORE_INSECURE_HTTP", c.insecure)
			t.Setenv("PETSTORE_PROCESSES", c.processes)
			_, err := petstore.NewClientFromEnv()
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, petstore.ErrInvalidArgument)
			assert.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "two words")
		})
	}
}

func TestNewClientFromEnvProcesses(t *testing.T) {
	t.Setenv("PETSTORE_BASE_URL", "https://service.test/v1")
	t.Setenv("PETSTORE_API_KEY", testKey)
	t.Setenv("PETSTORE_PROCESSES", "4")
	sent := func(opts ...petstore.Option) int {
		var most int
		synctest.Test(t, func(t *testing.T) {
			server := fake.NewTestServer(t, fake.WithKey(testKey, fake.PlanFree), fake.WithLatency(100*time.Millisecond))
			client, err := petstore.NewClientFromEnv(append(opts, petstore.WithHTTPClient(&http.Client{Transport: server.Transport()}))...)
			require.NoError(t, err)
			for range 50 {
				go func() { _, _ = client.ListPets(t.Context(), petstore.ListPetsParams{}, petstore.WithMaxWait(0)) }()
			}
			time.Sleep(250 * time.Millisecond) // two round trips
			most = server.Usage(testKey).Minute
			time.Sleep(time.Minute)
		})
		return most
	}
	assert.Equal(t, 1+59/8, sent(), "a quarter of the key's budget, and half of that in flight")
	assert.Greater(t, sent(petstore.WithLimiter(nil)), 40, "an option overrides the variable")
}
