package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestClients checks that all clients return the same pets, and report a pet that is not there.
func TestClients(t *testing.T) {
	for _, transport := range []http.RoundTripper{newStub(), overTCP(t)} {
		for _, c := range clients(transport) {
			for _, o := range operations() {
				got, err := c.call(t.Context(), o)
				require.True(t, err == nil || o.missing, "%s %s: %v", c.name, o.name, err)
				want := strings.Trim(text(t, pets(max(o.limit, 1))), "[]")
				if o.missing {
					want = "not_found"
				}
				assert.Contains(t, text(t, got)+fmt.Sprint(err), want, "%s %s", c.name, o.name)
			}
		}
	}
}

// text returns a value as JSON, with the fields in the order of their names.
func text(t *testing.T, value any) string {
	t.Helper()
	first, err := json.Marshal(value)
	require.NoError(t, err)
	var fields any
	require.NoError(t, json.Unmarshal(first, &fields))
	sorted, err := json.Marshal(fields)
	require.NoError(t, err)
	return string(sorted)
}

// overTCP returns a transport to a server that responds as the stub does.
func overTCP(tb testing.TB) http.RoundTripper {
	tb.Helper()
	server := httptest.NewServer(newStub())
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}}
	tb.Cleanup(server.Close)
	tb.Cleanup(transport.CloseIdleConnections)
	return transport
}

func BenchmarkCall(b *testing.B) { benchmark(b, newStub()) }
func BenchmarkTCP(b *testing.B)  { benchmark(b, overTCP(b)) }

func benchmark(b *testing.B, transport http.RoundTripper) {
	for _, o := range operations() {
		for _, c := range clients(transport) {
			b.Run("op="+o.name+"/client="+c.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.call(b.Context(), o); err != nil && !o.missing {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
