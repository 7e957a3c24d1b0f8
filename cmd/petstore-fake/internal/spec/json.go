package spec

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// decode reads a text that must be one JSON value, which kind describes. Its errors repeat no value,
// which may be a key.
func decode(text []byte, value any, kind string) error {
	text = bytes.TrimSpace(text)
	err := json.Unmarshal(text, value)
	if bad, notJSON := errors.AsType[*jsontext.SyntacticError](err); notJSON {
		return fmt.Errorf("it is not JSON: %w, at byte %d", bad.Err, bad.ByteOffset)
	}
	if err != nil || string(text) == "null" {
		return errors.New("it must be " + kind)
	}
	return nil
}

// ParseObject reads a text that must be one JSON object, and returns the JSON of its fields.
func ParseObject(text []byte) (fields map[string]jsontext.Value, err error) {
	err = decode(text, &fields, "a JSON object")
	return fields, err
}

// ParsePets reads a JSON array of NewPet objects.
func ParsePets(text []byte) (pets []petstore.NewPet, err error) {
	var list []jsontext.Value
	if err := decode(text, &list, "a JSON array of NewPet objects"); err != nil {
		return nil, err
	}
	for _, raw := range list {
		p, err := fakecontrol.ParseNewPet(raw)
		if err != nil {
			return nil, fmt.Errorf("pet %d of the array: %w", len(pets)+1, err)
		}
		pets = append(pets, p)
	}
	return pets, nil
}
