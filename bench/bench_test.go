package bench

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestClients holds that all clients return the same pets.
func TestClients(t *testing.T) {
	for _, c := range clients(newStub()) {
		for _, o := range operations() {
			got, err := c.call(t.Context(), o)
			require.NoError(t, err, c.name, o.name)
			text, err := json.Marshal(got)
			require.NoError(t, err)
			want, err := json.Marshal(pets(max(o.limit, 1)))
			require.NoError(t, err)
			assert.Contains(t, string(text), strings.Trim(string(want), "[]"), c.name, o.name)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	for _, o := range operations() {
		for _, c := range clients(newStub()) {
			b.Run("op="+o.name+"/client="+c.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.call(b.Context(), o); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
