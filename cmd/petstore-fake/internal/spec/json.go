package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// DecodeStrict decodes a text that must be one JSON object without unknown fields. Its errors name
// fields, never values.
func DecodeStrict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		return errors.New("there is something behind the JSON object")
	}
	if endsEarly(err) {
		return errEndsEarly
	}
	if err == nil && !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		err = errors.New("it must be a JSON object") // null decodes into anything
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return errors.New("it must be a JSON object")
		}
		kind, _, _ := strings.Cut(wrong.Value, " ") // "number 1.5"
		return fmt.Errorf("%s must be of type %s, not %s", wrong.Field, wrong.Type, kind)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it is not JSON: %w at byte %d", syntax, syntax.Offset)
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// errEndsEarly is the error for a JSON text that is cut off.
var errEndsEarly = errors.New("it is not JSON: it ends too early")

// endsEarly reports whether a decoder reached the end of its text where it needed more.
func endsEarly(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
