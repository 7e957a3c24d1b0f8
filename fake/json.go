package fake

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	petstore "github.com/petstore/petstore-go"
)

// petJSON is a Pet object (section 2). The fields are named here and not by the tags of
// petstore.Pet: a wrong tag there must not be made good by the same tag here.
type petJSON struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status,omitempty"` // a pet without a status shows none
}

func newPetJSON(p petstore.Pet) petJSON {
	return petJSON{p.ID, p.Name, p.CategoryID, string(p.Status)}
}

// errorJSON is an Error object (section 7).
type errorJSON struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

// success returns a response with a value as JSON.
func success(status int, value any) response {
	return response{status: status, contentType: mediaJSON, body: encode(value)}
}

// encode returns a value as JSON. What is not UTF-8 becomes U+FFFD.
func encode(v any) []byte {
	b, _ := json.Marshal(v, jsontext.AllowInvalidUTF8(true)) // no field of these types can fail
	return b
}

// codeOf returns the code of the Error objects of a status. The document fixes none (section 7):
// these are the fake's own, for tests of the fake, and no promise of the service.
func codeOf(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "invalid_request"
	case http.StatusTooManyRequests:
		return "rate_limited"
	case http.StatusInternalServerError:
		return "internal_error"
	}
	text := strings.ToLower(http.StatusText(status))
	if text == "" {
		return "injected"
	}
	return strings.NewReplacer(" ", "_", "-", "_", "'", "").Replace(text)
}
