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

// Assert compares a text with the file at a path, and reports the lines that differ.
func Assert(t testing.TB, path, got string) {
	t.Helper()
	if Update() {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path) //nolint:gosec // a file of the repository
	if err != nil {
		t.Fatal(err)
	}
	if diff := Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; if that is right, write it anew with UPDATE_GOLDEN=1:\n%s", path, diff)
	}
}

// Diff returns the part of two texts that differs, a few lines of each, or "" if they are the same.
func Diff(want, got string) string {
	if want == got {
		return ""
	}
	old, now := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	same := 0
	for same < min(len(old), len(now)) && old[same] == now[same] {
		same++
	}
	old, now = old[same:], now[same:]
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	at := 0 // the first byte that differs in the first line
	if len(old) > 0 && len(now) > 0 {
		for at < min(len(old[0]), len(now[0])) && old[0][at] == now[0][at] {
			at++
		}
	}
	return fmt.Sprintf("from line %d on:\n%s%s", same+1, excerpt("-", old, at), excerpt("+", now, at))
}

// excerpt returns the first ten lines after a mark, each from a little before a byte, at most 200
// bytes long.
func excerpt(mark string, lines []string, at int) string {
	var text strings.Builder
	for i, line := range lines {
		if i == 10 {
			fmt.Fprintf(&text, "%s and %d more lines\n", mark, len(lines)-i)
			break
		}
		line = line[min(max(at-80, 0), len(line)):]
		fmt.Fprintf(&text, "%s%.200q\n", mark, line[:min(len(line), 200)])
	}
	return text.String()
}
