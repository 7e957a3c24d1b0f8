package credential_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/credential"
)

// write writes a file, as if it had been there for some time.
func write(t *testing.T, path, text string, age time.Duration) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	then := time.Now().Add(-age)
	require.NoError(t, os.Chtimes(path, then, then))
}

func TestFile(t *testing.T) {
	file := &credential.File{Path: filepath.Join(t.TempDir(), "key")}
	read := func(anew bool) string {
		key, err := file.Key(anew)
		require.NoError(t, err)
		return key
	}
	for _, key := range []string{"a", "b", "c"} { // of the same size, within the grain of the time
		write(t, file.Path, "  "+key+"\n", 0)
		assert.Equal(t, key, read(false))
	}
	write(t, file.Path, "old", time.Hour)
	assert.Equal(t, "old", read(false))
	info, err := os.Stat(file.Path)
	require.NoError(t, err)
	write(t, file.Path, "new", 0)
	require.NoError(t, os.Chtimes(file.Path, info.ModTime(), info.ModTime()))
	assert.Equal(t, "old", read(false), "the change cannot be seen")
	assert.Equal(t, "new", read(true))
	write(t, file.Path, "another", time.Minute)
	assert.Equal(t, "another", read(false))
}

func TestFileError(t *testing.T) {
	file := &credential.File{Path: filepath.Join(t.TempDir(), "hush")}
	fails := func(want string) error {
		_, err := file.Key(false)
		require.ErrorContains(t, err, "API key file: "+want)
		assert.NotContains(t, err.Error(), "hush")
		return err
	}
	require.ErrorIs(t, fails("no such file"), fs.ErrNotExist)
	write(t, file.Path, " \n", time.Hour)
	_ = fails("is empty")
	write(t, file.Path, "key"+strings.Repeat("\n", 64<<10-3), time.Hour)
	_, err := file.Key(false)
	require.NoError(t, err)
	write(t, file.Path, "key"+strings.Repeat("\n", 64<<10), time.Hour)
	_ = fails("has more than 64 KiB")
	if _, err := os.Stat("/dev/zero"); err == nil {
		file.Path = "/dev/zero"
		_ = fails("has more than 64 KiB")
	}
}
