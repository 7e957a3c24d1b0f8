//go:build unix

package credential

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFileError_pipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := NewFile(pipe).Key(t.Context())
	require.EqualError(t, err, "API key file: is not a regular file")
}
