package main

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLargeBodiesAreWhatTheyAreCalled(t *testing.T) {
	for _, b := range largeBodies() {
		t.Run(b.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/v1/pets", nil)
			require.NoError(t, err)
			resp, err := b.transport().RoundTrip(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			n, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 2*bound))
			require.NoError(t, err)
			if b.endless {
				assert.EqualValues(t, 2*bound, n)
				return
			}
			assert.Equal(t, b.reference, n)
			assert.LessOrEqual(t, n, int64(bound))
			assert.Greater(t, n, int64(bound*99/100))
		})
	}
}
