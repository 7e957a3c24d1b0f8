package fake

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	petstore "github.com/petstore/petstore-go"
)

// errorJSON is an Error object (section 7).
type errorJSON struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

// petSize is how many bytes most Pet objects take at most.
const petSize = 96

// appendPet appends a Pet object (section 2). It does not use the tags of petstore.Pet: a wrong tag
// there must not be made good by the same tag here.
func appendPet(b []byte, p petstore.Pet) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, p.ID, 10)
	b = append(b, `,"name":`...)
	b = appendString(b, p.Name)
	b = append(b, `,"categoryId":`...)
	b = strconv.AppendInt(b, p.CategoryID, 10)
	if p.Status != "" { // a pet without a status shows none
		b = append(b, `,"status":`...)
		b = appendString(b, string(p.Status))
	}
	return append(b, '}')
}

// appendString appends a string of JSON. What is not UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // the error says that there was something else than UTF-8
	return b
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
