package spec

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// PositionError is an error at a byte of a text.
type PositionError struct {
	// Offset counts bytes from 0.
	Offset int64
	err    error
}

// Error returns the reason.
func (e *PositionError) Error() string { return e.err.Error() }

// notJSON returns the error for a text that a decoder refused.
func notJSON(err error) *PositionError {
	bad, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		bad = &jsontext.SyntacticError{Err: err} // io.EOF: there is nothing at all
	}
	if errors.Is(bad.Err, io.EOF) || errors.Is(bad.Err, io.ErrUnexpectedEOF) {
		bad.Err = errors.New("it ends too early")
	}
	return &PositionError{bad.ByteOffset, fmt.Errorf("it is not JSON: %w", bad.Err)}
}

// ParseObject reads a text that must be one JSON object, and returns the JSON of its fields. Its
// errors repeat no value, which may be a key.
func ParseObject(text []byte) (map[string]jsontext.Value, error) {
	var fields map[string]jsontext.Value
	err := json.Unmarshal(text, &fields)
	if _, otherKind := errors.AsType[*json.SemanticError](err); otherKind || err == nil && fields == nil {
		return nil, errors.New("it must be a JSON object") // null leaves fields nil
	}
	if err != nil {
		bad := notJSON(err)
		return nil, fmt.Errorf("%w, at byte %d", bad, bad.Offset)
	}
	return fields, nil
}
