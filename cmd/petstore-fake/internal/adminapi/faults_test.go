package adminapi

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

func TestParseFaults(t *testing.T) {
	t.Parallel()
	t.Run("a JSON object is one fault", func(t *testing.T) {
		t.Parallel()
		faults, one, err := parseFaults([]byte(` {"status":503}`))
		require.NoError(t, err)
		assert.True(t, one)
		assert.Equal(t, []fake.Fault{{Status: 503}}, faults)
	})
	t.Run("a JSON string holds faults as -fault takes them", func(t *testing.T) {
		t.Parallel()
		faults, one, err := parseFaults([]byte(` "status=503,times=2; wire=reset"`))
		require.NoError(t, err)
		assert.False(t, one)
		assert.Equal(t, []fake.Fault{{Status: 503, Times: 2}, {Wire: fake.WireReset}}, faults)
	})
	t.Run("all else is refused", func(t *testing.T) {
		t.Parallel()
		for _, body := range []string{`"status=1000"`, `""`, `"status=503" 1`, `[]`, `1`, `null`, `{"status":1}`} {
			_, _, err := parseFaults([]byte(body))
			assert.Error(t, err, body)
		}
	})
}
