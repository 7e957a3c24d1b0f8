package adminapi

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/golden"
)

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	original, err := os.ReadFile("../../../../openapi.yaml")
	require.NoError(t, err)
	golden.Assert(t, "openapi.yaml", string(original))
	w := httptest.NewRecorder()
	openapi(w, httptest.NewRequestWithContext(t.Context(), "GET", "/_fake/openapi", http.NoBody))
	assert.Equal(t, "application/yaml", w.Header().Get("Content-Type"))
	assert.Equal(t, string(document), w.Body.String())
}
