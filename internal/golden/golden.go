// Package golden compares texts with golden files, in tests of all modules of this repository.
package golden

import (
	"os"
	"strings"
	"testing"
)

// Assert compares a text with the file at a path, and reports the first line that differs.
// UPDATE_GOLDEN=1 in the environment writes the file anew. It is no flag, because go test ./...
// fails with a flag that only some of the packages have.
func Assert(t testing.TB, path, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { // a file of the repository
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path) // a file of the repository
	if err != nil {
		t.Fatal(err)
	}
	wanted, lines := strings.SplitAfter(string(want)+"\n", "\n"), strings.SplitAfter(got+"\n", "\n")
	for i := range min(len(wanted), len(lines)) {
		if wanted[i] != lines[i] {
			t.Fatalf("%s: line %d should be\n%.400q and is\n%.400q; if that is right, set UPDATE_GOLDEN=1", path, i+1, wanted[i], lines[i])
		}
	}
}
