package credential

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	file := NewFile(path)
	for text, want := range map[string]string{" old\n": "old", "new": "new"} { // a change counts at once
		write(t, path, text)
		key, err := file.Key(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, key)
	}
	require.NoError(t, os.Remove(path))
	_, err := file.Key(t.Context())
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestFileError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hush")
	fails := func(path, want string) error {
		_, err := NewFile(path).Key(t.Context())
		require.ErrorContains(t, err, "API key file: "+want)
		assert.NotContains(t, err.Error(), "hush")
		return err
	}
	require.ErrorIs(t, fails(path, "no such file"), fs.ErrNotExist)
	write(t, path, " \n")
	_ = fails(path, "is empty")
	write(t, path, "key"+strings.Repeat("\n", 64<<10-3))
	_, err := NewFile(path).Key(t.Context())
	require.NoError(t, err)
	write(t, path, "key"+strings.Repeat("\n", 64<<10-2))
	_ = fails(path, "has more than 64 KiB")
	if runtime.GOOS == "windows" {
		return
	}
	_ = fails(dir, "is not a regular file")
	_ = fails("/dev/zero", "is not a regular file")
	write(t, path, "key")
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(path, link))
	key, err := NewFile(link).Key(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "key", key)
}

// A file system may hang: a call then ends with its context, and so do those that wait behind it.
func TestFile_contextEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	write(t, path, "key")
	file := NewFile(path)
	cause := errors.New("enough")
	ended, end := context.WithCancelCause(t.Context())
	file.reading <- struct{}{} // as if a goroutine read it
	time.AfterFunc(time.Millisecond, func() { end(cause) })
	_, err := file.Key(ended)
	require.ErrorIs(t, err, cause)
	assert.EqualError(t, err, "API key file: enough")
	<-file.reading
	key, err := file.Key(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "key", key)
}
