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
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// write writes a file, as if it had been there for some time.
func write(t *testing.T, path, text string, age time.Duration) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	then := time.Now().Add(-age)
	require.NoError(t, os.Chtimes(path, then, then))
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	file := NewFile(path)
	read := func(anew bool) string {
		key, err := file.Key(t.Context(), anew)
		require.NoError(t, err)
		return key
	}
	write(t, path, " old\n", time.Hour)
	assert.Equal(t, "old", read(false))
	write(t, path, "another", time.Hour)
	assert.Equal(t, "another", read(false), "its size has changed")
	write(t, path, "moveone", time.Minute)
	assert.Equal(t, "moveone", read(false), "its time has changed")
	next := path + ".next"
	write(t, next, "replace", 0)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Chtimes(next, info.ModTime(), info.ModTime()))
	require.NoError(t, os.Rename(next, path))
	assert.Equal(t, "replace", read(false), "it is another file")
	require.NoError(t, os.Remove(path))
	_, err = file.Key(t.Context(), false)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// A file that is changed twice within the grain of its time has the time of the first change.
func TestFile_settled(t *testing.T) {
	for age, want := range map[time.Duration]string{
		0: "new", settled - time.Millisecond: "new",
		settled: "old", // which is what a change without a trace costs: it is read after the next 401
	} {
		synctest.Test(t, func(t *testing.T) { // no time passes while it reads
			path := filepath.Join(t.TempDir(), "key")
			file := NewFile(path)
			for _, key := range []string{"old", "new"} {
				write(t, path, key, age)
				if key == "old" {
					_, err := file.Key(t.Context(), false)
					require.NoError(t, err)
				}
			}
			key, err := file.Key(t.Context(), false)
			require.NoError(t, err)
			assert.Equal(t, want, key, age)
			key, err = file.Key(t.Context(), true)
			require.NoError(t, err)
			assert.Equal(t, "new", key)
		})
	}
	assert.Equal(t, 2*time.Second, settled, "the grain of FAT")
}

func TestFileError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hush")
	fails := func(path, want string) error {
		_, err := NewFile(path).Key(t.Context(), false)
		require.ErrorContains(t, err, "API key file: "+want)
		assert.NotContains(t, err.Error(), "hush")
		return err
	}
	require.ErrorIs(t, fails(path, "no such file"), fs.ErrNotExist)
	write(t, path, " \n", time.Hour)
	_ = fails(path, "is empty")
	write(t, path, "key"+strings.Repeat("\n", 64<<10-3), time.Hour)
	_, err := NewFile(path).Key(t.Context(), false)
	require.NoError(t, err)
	write(t, path, "key"+strings.Repeat("\n", 64<<10-2), time.Hour)
	_ = fails(path, "has more than 64 KiB")
	if runtime.GOOS == "windows" {
		return
	}
	_ = fails(dir, "is not a regular file")
	_ = fails("/dev/zero", "is not a regular file")
	write(t, path, "key", time.Hour)
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(path, link))
	key, err := NewFile(link).Key(t.Context(), false)
	require.NoError(t, err)
	assert.Equal(t, "key", key)
}

// A file system may hang: a call then ends with its context, and so do those that wait behind it.
func TestFile_contextEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	write(t, path, "key", time.Hour)
	file := NewFile(path)
	cause := errors.New("enough")
	ended, end := context.WithCancelCause(t.Context())
	file.reading <- struct{}{} // as if a goroutine read it
	time.AfterFunc(time.Millisecond, func() { end(cause) })
	_, err := file.Key(ended, false)
	require.ErrorIs(t, err, cause)
	assert.EqualError(t, err, "API key file: enough")
	<-file.reading
	key, err := file.Key(t.Context(), false)
	require.NoError(t, err)
	assert.Equal(t, "key", key)
}
