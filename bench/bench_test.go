package bench

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ids matches the IDs of the pets, 4711 to 4810, but no time of the day.
var ids = regexp.MustCompile(`:4[78]\d\d`)

// TestClients checks that all clients return the same pets.
func TestClients(t *testing.T) {
	for _, transport := range []http.RoundTripper{newStub(), overTCP(t)} {
		for _, c := range append(clients(transport), generated(transport)...) {
			for _, limit := range []int{0, 20, 100} {
				got, err := c.call(t.Context(), limit)
				require.NoError(t, err, c.name)
				text, err := json.Marshal(got)
				require.NoError(t, err, c.name)
				assert.Len(t, ids.FindAll(text, -1), max(limit, 1), "%s %s", c.name, text)
			}
		}
	}
}

// overTCP returns a transport to a server that responds as the stub does.
func overTCP(tb testing.TB) http.RoundTripper {
	tb.Helper()
	server := httptest.NewServer(newStub())
	tb.Cleanup(server.Close)
	return server.Client().Transport // which sends requests for example.com to the server
}

func BenchmarkCall(b *testing.B) { benchmark(b, newStub()) }
func BenchmarkTCP(b *testing.B)  { benchmark(b, overTCP(b)) }

func benchmark(b *testing.B, transport http.RoundTripper) {
	for _, limit := range []int{0, 20, 100} {
		name := map[int]string{0: "create", 20: "list20", 100: "list100"}[limit]
		for _, c := range append(clients(transport), generated(transport)...) {
			b.Run("op="+name+"/client="+c.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.call(b.Context(), limit); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
