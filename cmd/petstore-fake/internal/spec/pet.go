package spec

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// ParsePets reads a JSON array of NewPet objects. Its errors are of type [*PositionError].
func ParsePets(text []byte) (pets []petstore.NewPet, err error) {
	// Duplicate names are refused by ParseNewPet, with a better error.
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	next := func() int64 { // returns the offset of the next value
		return int64(len(text) - len(bytes.TrimLeft(text[d.InputOffset():], " \t\r\n,")))
	}
	begin := next()
	switch token, err := d.ReadToken(); {
	case err != nil:
		return nil, notJSON(err)
	case token.Kind() != '[':
		return nil, &PositionError{begin, errors.New("it must be a JSON array of NewPet objects")}
	}
	for d.PeekKind() != ']' {
		begin = next()
		raw, err := d.ReadValue()
		if err != nil {
			return nil, notJSON(err)
		}
		p, err := fakecontrol.ParseNewPet(raw)
		if err != nil {
			return nil, &PositionError{begin, fmt.Errorf("pet %d of the array: %w", len(pets)+1, err)}
		}
		pets = append(pets, p)
	}
	_, _ = d.ReadToken() // the end of the array
	if begin = next(); begin < int64(len(text)) {
		return nil, &PositionError{begin, errors.New("it is not JSON: something follows the array")}
	}
	return pets, nil
}
