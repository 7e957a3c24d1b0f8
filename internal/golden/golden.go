// Package golden compares texts with golden files, in tests of all modules of this repository.
// UPDATE_GOLDEN=1 in the environment writes the files anew: it is an environment variable, because
// go test ./... passes no flag on that only some packages have.
package golden

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Update reports whether the golden files are to be written anew.
func Update() bool { return os.Getenv("UPDATE_GOLDEN") != "" }

// Assert compares a text with the file at a path, and reports where it differs.
func Assert(t testing.TB, path, got string) {
	t.Helper()
	if Update() {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { // a file of the repository
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path) // a file of the repository
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(string(want), got); d != "" {
		t.Errorf("%s differs; if that is right, write it anew with UPDATE_GOLDEN=1:\n%s", path, d)
	}
}

// diff returns where two texts differ first, with a little of each, or "" if they are the same.
func diff(want, got string) string {
	if want == got {
		return ""
	}
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	line := strings.Count(want[:at], "\n") + 1
	excerpt := func(text string) string { return text[max(at-80, 0):min(at+320, len(text))] }
	return fmt.Sprintf("from line %d on:\n-%q\n+%q\n", line, excerpt(want), excerpt(got))
}
