// Package testkit has what tests need: golden files, and a port of this machine.
package testkit

import (
	"flag"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
)

// AssertGolden compares a text with the file at a path, and reports the first line that differs.
// With UPDATE_GOLDEN=1 in the environment, it writes the text to the file. This is no flag, because
// go test ./... fails if a package does not have the flag.
func AssertGolden(t testing.TB, path, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { // a file of the repository
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, is := strings.SplitAfter(string(text)+"\n", "\n"), strings.SplitAfter(got+"\n", "\n")
	for i := range min(len(want), len(is)) {
		if want[i] != is[i] {
			t.Fatalf("%s: line %d is not\n%.400q but\n%.400q; UPDATE_GOLDEN=1 accepts it", path, i+1, want[i], is[i])
		}
	}
}

// Loopback returns the loopback address as a URL has it: 127.0.0.1 or [::1]. It skips the test if
// the machine has none, as in a sandbox without a network.
func Loopback(t testing.TB) string {
	t.Helper()
	if loopback() == "" {
		t.Skip("this test needs a loopback interface")
	}
	return loopback()
}

// Listen opens a port at [Loopback]. The caller closes it.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", Loopback(t)+":0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// SkipExamples makes go test skip the examples where there is no loopback interface, because an
// example cannot skip itself. TestMain must call it.
func SkipExamples() {
	if skip := flag.Lookup("test.skip"); loopback() == "" && skip.Value.String() == "" {
		_ = skip.Value.Set("^Example") // go test -v lists what has run
	}
}

// loopback connects to the address, too, because a port can be opened even if the interface is
// down.
var loopback = sync.OnceValue(func() string {
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		if l, err := net.Listen("tcp", host+":0"); err == nil {
			defer l.Close()
			if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
				_ = conn.Close()
				return host
			}
		}
	}
	return ""
})
