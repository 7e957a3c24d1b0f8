package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// PositionError is an error at a byte of a text.
type PositionError struct {
	// Offset counts bytes from 0.
	Offset int64
	err    error
}

// Error returns the reason.
func (e *PositionError) Error() string { return e.err.Error() }

// decode reads a text that must be one JSON value, which kind describes. Its errors repeat no value,
// which may be a key.
func decode(text []byte, value any, kind string, opts ...json.Options) *PositionError {
	err := json.Unmarshal(text, value, opts...)
	bad, notJSON := errors.AsType[*jsontext.SyntacticError](err)
	begin := bytes.TrimLeft(text, " \t\r\n")
	switch {
	case notJSON && (errors.Is(bad, io.EOF) || errors.Is(bad, io.ErrUnexpectedEOF)):
		return &PositionError{bad.ByteOffset, errors.New("it is not JSON: it ends too early")}
	case notJSON:
		return &PositionError{bad.ByteOffset, fmt.Errorf("it is not JSON: %w", bad.Err)}
	case err != nil, begin[0] == 'n': // null
		return &PositionError{int64(len(text) - len(begin)), errors.New("it must be " + kind)}
	}
	return nil
}

// ParseObject reads a text that must be one JSON object, and returns the JSON of its fields.
func ParseObject(text []byte) (fields map[string]jsontext.Value, err error) {
	if bad := decode(text, &fields, "a JSON object"); bad != nil && bad.Offset > 0 {
		return nil, fmt.Errorf("%w, at byte %d", bad, bad.Offset)
	} else if bad != nil {
		return nil, bad
	}
	return fields, nil
}

// ParsePets reads a JSON array of NewPet objects. Its errors are of type [*PositionError].
func ParsePets(text []byte) (pets []petstore.NewPet, err error) {
	var list []jsontext.Value
	// Duplicate names are refused by ParseNewPet, with a better error.
	if bad := decode(text, &list, "a JSON array of NewPet objects", jsontext.AllowDuplicateNames(true)); bad != nil {
		return nil, bad
	}
	end := 0
	for _, raw := range list {
		begin := end + bytes.Index(text[end:], raw)
		end = begin + len(raw)
		p, err := fakecontrol.ParseNewPet(raw)
		if err != nil {
			return nil, &PositionError{int64(begin), fmt.Errorf("pet %d of the array: %w", len(pets)+1, err)}
		}
		pets = append(pets, p)
	}
	return pets, nil
}
