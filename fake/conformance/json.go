package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// The readers below take raw JSON and are strict where Go's own are not: null is no value of any
// type, and an integer is written as one.

// object reads a JSON object.
func object(raw []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := read(raw, '{', "an object", &fields); err != nil {
		return nil, err
	}
	return fields, nil
}

// array reads a JSON array.
func array(raw []byte) ([]json.RawMessage, error) {
	var items []json.RawMessage
	if err := read(raw, '[', "an array", &items); err != nil {
		return nil, err
	}
	return items, nil
}

// text reads a JSON string.
func text(raw []byte) (string, error) {
	var s string
	if err := read(raw, '"', "a string", &s); err != nil {
		return "", err
	}
	return s, nil
}

// integer reads an int64 without a fraction or an exponent, as readers of typed languages need it.
func integer(raw []byte) (int64, error) {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(raw)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is not an int64", show(raw))
	}
	return n, nil
}

// read reads one JSON value that begins with first, and nothing after it.
func read(raw []byte, first byte, what string, into any) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != first {
		return fmt.Errorf("%s is not %s", show(raw), what)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%s is not %s: %w", show(raw), what, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s has something after its end", show(raw))
	}
	return nil
}

// maxShown bounds what a message repeats of a response.
const maxShown = 160

// show is a piece of a response for a message: one line, never endless.
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
	b, err := json.Marshal(s)
	if err != nil { // no string brings it about
		return `""`
	}
	return string(b)
}
