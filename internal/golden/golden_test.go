package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reports records what a test would report.
type reports struct {
	testing.TB

	failed bool
}

func (r *reports) Helper() {}

func (r *reports) Errorf(string, ...any) { r.failed = true }

func TestAssert(t *testing.T) {
	path := filepath.Join(t.TempDir(), "golden.txt")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	t.Setenv("UPDATE_GOLDEN", "")
	r := &reports{}
	Assert(r, path, "new")
	assert.True(t, r.failed, "a difference is reported")
	t.Setenv("UPDATE_GOLDEN", "1")
	Assert(t, path, "new")
	t.Setenv("UPDATE_GOLDEN", "")
	Assert(t, path, "new")
}

func TestDiff(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, row := range []struct{ name, want, got, diff string }{
		{"the same", "a\nb\n", "a\nb\n", ""},
		{"a line", "a\nb\nc\n", "a\nB\nc\n", "from line 2 on:\n-\"b\\n\"\n+\"B\\n\"\n"},
		{"a line more", "a\n", "a\nb\n", "from line 2 on:\n+\"b\\n\"\n"},
		{"nothing", "a", "", "from line 1 on:\n-\"a\"\n+\"\"\n"},
		{
			"far in a long line", long + "1" + long, long + "2" + long,
			"from line 1 on:\n-\"" + long[:80] + "1" + long[:119] + "\"\n+\"" + long[:80] + "2" + long[:119] + "\"\n",
		},
	} {
		assert.Equal(t, row.diff, Diff(row.want, row.got), row.name)
	}
	assert.Less(t, len(Diff(strings.Repeat("old\n", 1000), strings.Repeat("new\n", 1000))), 400)
}
