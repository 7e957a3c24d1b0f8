package petstore_test

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

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

func TestAPIKeyFileReadsANewFileEachTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	get := petstore.APIKeyFile(file)
	for _, key := range []string{"a", "b", "c"} { // of the same size, within the grain of the time
		require.NoError(t, os.WriteFile(file, []byte(key), 0o600))
		got, err := get(t.Context())
		require.NoError(t, err)
		assert.Equal(t, key, got)
	}
	require.NoError(t, os.WriteFile(file, []byte(" \n"), 0o600))
	_, err := get(t.Context())
	require.EqualError(t, err, "API key file: is empty")
	_, err = petstore.APIKeyFile("")(t.Context())
	require.ErrorIs(t, err, fs.ErrNotExist)
}
