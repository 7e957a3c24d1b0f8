// Package loopback gives tests a port of this machine, of IPv4 or of IPv6, and skips them where
// there is no loopback interface, as in a sandbox without a network.
package loopback

import (
	"flag"
	"net"
	"sync"
	"testing"
)

// Host returns the loopback address as it stands in a URL. Without one it skips the test.
func Host(t testing.TB) string {
	t.Helper()
	if host() == "" {
		t.Skip("this test needs a loopback interface")
	}
	return host()
}

// Listen opens a port, which the caller closes. Without a loopback interface it skips the test.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", Host(t)+":0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// SkipExamples has go test skip the examples if there is no loopback interface, since an example
// cannot skip itself. It must be called by TestMain.
func SkipExamples() {
	if skip := flag.Lookup("test.skip"); host() == "" && skip.Value.String() == "" {
		_ = skip.Value.Set("^Example") // go test -v lists what has run
	}
}

// host returns the first loopback address that it can connect to. It does not only listen, because
// that works even if the interface is down.
var host = sync.OnceValue(func() string {
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
