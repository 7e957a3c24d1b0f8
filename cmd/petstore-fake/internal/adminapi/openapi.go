package adminapi

import (
	_ "embed"
	"net/http"
)

// document is a copy of openapi.yaml of the module's root folder, which go:embed cannot reach. A
// test compares the two, and writes the copy with UPDATE_GOLDEN=1.
//
//go:embed openapi.yaml
var document []byte

// openapi handles GET /_fake/openapi.
func openapi(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(document) // the client may be gone
}
