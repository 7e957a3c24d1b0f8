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

// ParseJSON reads a text that must be one JSON value, which kind describes. Its errors repeat no
// value, which may be a key.
func ParseJSON(text []byte, value any, kind string) error {
	text = bytes.TrimSpace(text)
	err := json.Unmarshal(text, value)
	if bad, notJSON := errors.AsType[*jsontext.SyntacticError](err); notJSON {
		return fmt.Errorf("it is not JSON: %w, at byte %d", bad.Err, bad.ByteOffset)
	}
	if bad, wrong := errors.AsType[*json.SemanticError](err); wrong && bad.JSONPointer != "" {
		name := Clip(string(bad.JSONPointer.LastToken()))
		return fmt.Errorf("%s must be of type %s, not %s", name, bad.GoType, bad.JSONKind)
	}
	if err != nil || string(text) == "null" {
		return errors.New("it must be " + kind)
	}
	return nil
}

// ParsePets reads a JSON array of NewPet objects.
func ParsePets(text []byte) (pets []petstore.NewPet, err error) {
	var list []jsontext.Value
	if err := ParseJSON(text, &list, "a JSON array of NewPet objects"); err != nil {
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
