package petstore

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// net/http copies a body of unknown length with io.Copy, which needs a buffer of 32 KiB unless the
// body has a method WriteTo.
func TestEmptyBody(t *testing.T) {
	t.Run("is copied without a buffer", func(t *testing.T) {
		var body emptyBody
		var target struct{ io.Writer } // has no ReadFrom
		target.Writer = io.Discard
		allocations := testing.AllocsPerRun(100, func() {
			_, err := io.Copy(&target, body)
			require.NoError(t, err)
		})
		assert.Zero(t, allocations)
	})
}
