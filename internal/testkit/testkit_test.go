package testkit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fails is a test that panics in Fatalf, where a real test would end.
type fails struct{ testing.TB }

func (fails) Helper()                    {}
func (fails) Fatalf(_ string, at ...any) { panic(at[1]) }

func TestAssertGolden(t *testing.T) {
	path := filepath.Join(t.TempDir(), "golden.txt")
	require.NoError(t, os.WriteFile(path, []byte("a\nb\n"), 0o600))
	t.Setenv("UPDATE_GOLDEN", "")
	AssertGolden(t, path, "a\nb\n")
	for got, line := range map[string]int{"": 1, "a\nc\n": 2, "a\nb": 3, "a\nb\n\n": 4, "a\nb\nc": 3, "a\r\nb\n": 1} {
		assert.PanicsWithValue(t, line, func() { AssertGolden(fails{}, path, got) }, "%q", got)
	}
	t.Setenv("UPDATE_GOLDEN", "1")
	AssertGolden(t, path, "new")
	t.Setenv("UPDATE_GOLDEN", "")
	AssertGolden(t, path, "new")
}
