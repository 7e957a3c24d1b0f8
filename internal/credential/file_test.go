package credential

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hush")
	_, err := ReadFile(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.NotContains(t, err.Error(), "hush")
	for text, want := range map[string][2]string{ // the key and the error; the file is read anew each time
		" old\n":                             {"old", ""},
		"new" + strings.Repeat("\n", 65_533): {"new", ""},
		"new" + strings.Repeat("\n", 65_534): {"", "API key file: has more than 64 KiB"},
		" \n":                                {"", "API key file: is empty"},
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		key, err := ReadFile(path)
		assert.Equal(t, want[0], key)
		if want[1] == "" {
			assert.NoError(t, err)
		} else {
			assert.EqualError(t, err, want[1])
		}
	}
}
