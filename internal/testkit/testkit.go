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
// UPDATE_GOLDEN=1 in the environment writes the file anew. It is no flag, because go test ./...
// fails with a flag that only some of the packages have.
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
			t.Fatalf("%s: line %d should be\n%.400q and is\n%.400q; if that is right, set UPDATE_GOLDEN=1",
				path, i+1, want[i], is[i])
		}
	}
}

// Loopback returns the loopback address as it stands in a URL, of IPv4 or of IPv6. Without a
// loopback interface, as in a sandbox without a network, it skips the test.
func Loopback(t testing.TB) string {
	t.Helper()
	if loopback() == "" {
		t.Skip("this test needs a loopback interface")
	}
	return loopback()
}

// Listen opens a port at [Loopback], which the caller closes.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", Loopback(t)+":0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// SkipExamples has go test skip the examples if there is no loopback interface, since an example
// cannot skip itself. It must be called by TestMain.
func SkipExamples() {
	if skip := flag.Lookup("test.skip"); loopback() == "" && skip.Value.String() == "" {
		_ = skip.Value.Set("^Example") // go test -v lists what has run
	}
}

// loopback returns the first loopback address that it can connect to. It does not only listen,
// because that works even if the interface is down.
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
