package adminapi

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	original, err := os.ReadFile("../../../../openapi.yaml")
	require.NoError(t, err)
	assert.Equal(t, string(original), string(document),
		"copy openapi.yaml of the root folder to cmd/petstore-fake/internal/adminapi")
	w := httptest.NewRecorder()
	openapi(w, httptest.NewRequestWithContext(t.Context(), "GET", "/_fake/openapi", http.NoBody))
	assert.Equal(t, "application/yaml", w.Header().Get("Content-Type"))
	assert.Equal(t, string(original), w.Body.String())
}
