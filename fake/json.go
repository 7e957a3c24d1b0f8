package fake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	petstore "github.com/petstore/petstore-go"
)

// The fields are named here and not by the tags of petstore.Pet: a wrong tag there must not be made
// good by the same tag here.

// appendPet appends a Pet object (section 2). A pet without a status shows none.
func appendPet(b []byte, p petstore.Pet) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, p.ID, 10)
	b = append(b, `,"name":`...)
	b = appendString(b, p.Name)
	b = append(b, `,"categoryId":`...)
	b = strconv.AppendInt(b, p.CategoryID, 10)
	if p.Status != "" {
		b = append(b, `,"status":`...)
		b = appendString(b, string(p.Status))
	}
	return append(b, '}')
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

// appendError appends an Error object (section 7).
func appendError(b []byte, code, message string, status int) []byte {
	b = append(b, `{"code":`...)
	b = appendString(b, code)
	b = append(b, `,"message":`...)
	b = appendString(b, message)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(status), 10)
	return append(b, '}')
}

// appendString appends a JSON string. What is not UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	if isPlain(s) { // which spares most of the time of a list
		return append(append(append(b, '"'), s...), '"')
	}
	b, _ = jsontext.AppendQuote(b, s) // the error is about that replacement
	return b
}

// isPlain reports whether a text is a JSON string as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// unquoted returns the text of a JSON string that a decoder has accepted.
func unquoted(value jsontext.Value) string {
	text, _ := jsontext.AppendUnquote(nil, value)
	return string(text)
}

// newDecoder returns a decoder of a text. Duplicate names are the caller's business: only those of
// NewPet matter.
func newDecoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
}

// checkJSON returns an error if a text is not one JSON value.
func checkJSON(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("it is not valid UTF-8")
	}
	d := newDecoder(text)
	err := d.SkipValue()
	if errors.Is(err, io.EOF) {
		return errors.New("it is not JSON: there is no value")
	}
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("it is not JSON: %v, at byte %d", bad.Err, bad.ByteOffset)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("it is not JSON: something follows the value, at byte %d", d.InputOffset())
	}
	return nil
}
