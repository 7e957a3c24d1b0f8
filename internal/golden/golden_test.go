package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reports records what a test would report.
type reports struct {
	testing.TB

	failed bool
}

func (r *reports) Helper() {}

func (r *reports) Errorf(string, ...any) { r.failed = true }

func (r *reports) Fatal(...any) { panic("the test ends") }

func TestAssert(t *testing.T) {
	path := filepath.Join(t.TempDir(), "golden.txt")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	t.Setenv("UPDATE_GOLDEN", "")
	r := &reports{}
	Assert(r, path, "new")
	assert.True(t, r.failed, "a difference is reported")
	missing := filepath.Join(path, "missing")
	assert.Panics(t, func() { Assert(r, missing, "new") })
	t.Setenv("UPDATE_GOLDEN", "1")
	assert.Panics(t, func() { Assert(r, missing, "new") })
	Assert(t, path, "new")
	t.Setenv("UPDATE_GOLDEN", "")
	Assert(t, path, "new")
}

func TestDiff(t *testing.T) {
	assert.Empty(t, diff("a\nb\n", "a\nb\n"))
	assert.Equal(t, "from line 2 on:\n-\"a\\nb\\nc\"\n+\"a\\nB\\nc\"\n", diff("a\nb\nc", "a\nB\nc"))
	assert.Equal(t, "from line 2 on:\n-\"a\\n\"\n+\"a\\nb\"\n", diff("a\n", "a\nb"))
	long := strings.Repeat("x", 10_000)
	assert.Equal(t, "from line 1 on:\n-\""+long[:80]+"1"+long[:319]+"\"\n+\""+long[:80]+"2"+long[:319]+"\"\n",
		diff(long+"1"+long, long+"2"+long))
}
