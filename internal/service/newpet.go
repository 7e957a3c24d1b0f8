package service

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/petstore/petstore-go/internal/safetext"
)

// NewPet is the object that createPet takes (section 2).
type NewPet struct {
	Name       string
	CategoryID int64
	Status     string // empty if it was left out
}

// ReadNewPet reads a NewPet object, and returns the names of the fields that a NewPet does not
// have. The argument what is the word for the text in errors, such as "body".
func ReadNewPet(what string, text []byte) (pet NewPet, unknown []string, err error) {
	var fields map[string]jsontext.Value
	err = json.Unmarshal(text, &fields)
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(bad, jsontext.ErrDuplicateName) {
			return pet, nil, fmt.Errorf("the field %s is given twice", quote(bad.JSONPointer.LastToken()))
		}
		return pet, nil, fmt.Errorf("%s is not JSON: %v, at byte %d", what, bad.Err, bad.ByteOffset)
	}
	if k := jsontext.Value(text).Kind(); k != '{' {
		return pet, nil, fmt.Errorf("%s is %s; it must be an object", what, kinds[k])
	}
	err = cmp.Or(
		read(fields, "name", '"', &pet.Name),
		read(fields, "categoryId", '0', &pet.CategoryID))
	if fields["status"] != nil {
		err = cmp.Or(err, read(fields, "status", '"', &pet.Status), CheckStatus(pet.Status))
	}
	if err == nil && pet.Name == "" {
		err = errors.New("name is empty; it must be a non-empty string")
	}
	for _, known := range []string{"name", "categoryId", "status"} {
		delete(fields, known)
	}
	return pet, slices.Sorted(maps.Keys(fields)), err
}

// read reads a required field, a string or an integer.
func read(fields map[string]jsontext.Value, name string, want jsontext.Kind, into any) error {
	value, found := fields[name]
	must := map[jsontext.Kind]string{'"': "a string", '0': "an integer"}[want]
	switch k := value.Kind(); {
	case !found:
		return fmt.Errorf("the required field %s is missing", name)
	case k != want:
		return fmt.Errorf("%s is %s; it must be %s", name, kinds[k], must)
	}
	err := json.Unmarshal(value, into)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s is %s; an int64 lies between %d and %d",
			name, clip(string(value)), int64(math.MinInt64), int64(math.MaxInt64))
	case err != nil:
		return fmt.Errorf("%s is %s; it must be %s without fraction or exponent", name, clip(string(value)), must)
	}
	return nil
}

// NoSuchField returns the text about a field that NewPet does not have.
func NoSuchField(name string) string { return "NewPet has no field " + quote(name) }

// CheckStatus returns an error if a status is none of the document (section 2).
func CheckStatus(s string) error {
	if s == "available" || s == "pending" || s == "sold" {
		return nil
	}
	return fmt.Errorf("status is %s; it must be available, pending or sold", quote(s))
}

var kinds = map[jsontext.Kind]string{
	'{': "an object", '[': "an array", '"': "a string", '0': "a number",
	't': "a boolean", 'f': "a boolean", 'n': "null",
}

// clip returns the start of a text, as much as a message may repeat. A long text ends with an
// ellipsis, by which package safetext recognises a key that was cut off.
func clip(s string) string { return safetext.Shorten(s, 64+len("…")) }

func quote(s string) string { return strconv.Quote(clip(s)) }
