//go:build unix

package credential

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFile_special(t *testing.T) {
	dir := t.TempDir()
	pipe, file, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "file"), filepath.Join(dir, "link")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{pipe, dir, "/dev/zero"} {
		_, err := ReadFile(path)
		require.EqualError(t, err, "API key file: is not a regular file")
	}
	require.NoError(t, os.WriteFile(file, []byte("key"), 0o600))
	require.NoError(t, os.Symlink(file, link))
	key, err := ReadFile(link)
	require.NoError(t, err)
	assert.Equal(t, "key", key)
}
