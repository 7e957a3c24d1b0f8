package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// The readers below take raw JSON and are strict where Go's own are not: null is no value of any
// type, and an integer is written as one.

// object reads a JSON object.
func object(raw []byte) (map[string]json.RawMessage, error) {
	return read[map[string]json.RawMessage](raw, '{', "an object")
}

// array reads a JSON array.
func array(raw []byte) ([]json.RawMessage, error) {
	return read[[]json.RawMessage](raw, '[', "an array")
}

// text reads a JSON string.
func text(raw []byte) (string, error) { return read[string](raw, '"', "a string") }

// integer reads an int64 without a fraction or an exponent, as readers of typed languages need it.
func integer(raw []byte) (int64, error) {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(raw)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is not an int64", show(raw))
	}
	return n, nil
}

// read reads a text that is one JSON value, which begins with first.
func read[T any](raw []byte, first byte, what string) (v T, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != first {
		return v, fmt.Errorf("%s is not %s", show(raw), what)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("%s is not %s: %w", show(raw), what, err)
	}
	return v, nil
}

// maxShown bounds the bytes of a response that a message repeats.
const maxShown = 160

// show returns the beginning of a response as one line.
func show(raw []byte) string {
	switch {
	case len(raw) == 0:
		return "nothing"
	case len(raw) > maxShown:
		return fmt.Sprintf("%q…", raw[:maxShown])
	}
	return fmt.Sprintf("%q", raw)
}

// quoted writes a JSON string.
func quoted(s string) string {
	b, _ := json.Marshal(s) // no string has an error
	return string(b)
}
