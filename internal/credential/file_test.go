package credential

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hush")
	file := NewFile(path)
	_, err := file.Key(t.Context())
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.NotContains(t, err.Error(), "hush")
	for text, want := range map[string][2]string{ // the key, and the error: a change counts at once
		" old\n":                             {"old", ""},
		"new" + strings.Repeat("\n", 65_533): {"new", ""},
		"new" + strings.Repeat("\n", 65_534): {"", "API key file: has more than 64 KiB"},
		" \n":                                {"", "API key file: is empty"},
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		key, err := file.Key(t.Context())
		assert.Equal(t, want[0], key)
		if want[1] == "" {
			assert.NoError(t, err)
		} else {
			assert.EqualError(t, err, want[1])
		}
	}
}

// A file system may hang: a call then ends with its context, and so do those that wait behind it.
func TestFile_contextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "key")
		require.NoError(t, os.WriteFile(path, []byte("key"), 0o600))
		file := NewFile(path)
		cause := errors.New("enough")
		ended, end := context.WithTimeoutCause(t.Context(), time.Minute, cause)
		defer end()
		file.reading <- struct{}{} // as if a goroutine read it
		_, err := file.Key(ended)
		require.ErrorIs(t, err, cause)
		assert.EqualError(t, err, "API key file: enough")
		<-file.reading
		key, err := file.Key(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "key", key)
	})
}
