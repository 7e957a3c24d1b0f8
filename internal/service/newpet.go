package service

import (
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

// ReadNewPet reads a NewPet object, and returns the names of the fields that it does not know. what
// is how an error calls the text.
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
		return pet, nil, fmt.Errorf("%s is %s; it must be an object", what, kind(k))
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "name" && name != "categoryId" && name != "status" {
			unknown = append(unknown, name)
		}
	}
	pet, err = readFields(fields)
	return pet, unknown, err
}

// NoSuchField returns the text about a field that NewPet does not have.
func NoSuchField(name string) string { return "NewPet has no field " + quote(name) }

func readFields(fields map[string]jsontext.Value) (pet NewPet, err error) {
	for _, required := range []string{"name", "categoryId"} {
		if fields[required] == nil {
			return pet, fmt.Errorf("the required field %s is missing", required)
		}
	}
	if pet.Name, err = readString("name", fields["name"]); err != nil {
		return NewPet{}, err
	}
	if pet.Name == "" {
		return NewPet{}, errors.New("name is empty; it must be a non-empty string")
	}
	if pet.CategoryID, err = readCategory(fields["categoryId"]); err != nil {
		return NewPet{}, err
	}
	if status := fields["status"]; status != nil {
		if pet.Status, err = readString("status", status); err == nil {
			err = CheckStatus(pet.Status)
		}
	}
	if err != nil {
		return NewPet{}, err
	}
	return pet, nil
}

func readString(field string, value jsontext.Value) (s string, err error) {
	if k := value.Kind(); k != '"' {
		return "", fmt.Errorf("%s is %s; it must be a string", field, kind(k))
	}
	err = json.Unmarshal(value, &s)
	return s, err
}

func readCategory(value jsontext.Value) (int64, error) {
	if k := value.Kind(); k != '0' {
		return 0, fmt.Errorf("categoryId is %s; it must be an integer", kind(k))
	}
	digits := string(value)
	id, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("categoryId is %s; an int64 lies between %d and %d",
			clip(digits), int64(math.MinInt64), int64(math.MaxInt64))
	case err != nil:
		return 0, fmt.Errorf("categoryId is %s; it must be an integer without fraction or exponent", clip(digits))
	}
	return id, nil
}

// CheckStatus returns an error if a status is none of the document (section 2).
func CheckStatus(s string) error {
	if s == "available" || s == "pending" || s == "sold" {
		return nil
	}
	return fmt.Errorf("status is %s; it must be available, pending or sold", quote(s))
}

func kind(k jsontext.Kind) string {
	return map[jsontext.Kind]string{
		'{': "an object", '[': "an array", '"': "a string", '0': "a number",
		't': "a boolean", 'f': "a boolean", 'n': "null",
	}[k]
}

// clip returns what a message repeats of a text. Who redacts messages recognises the part of a key
// at the end of what is left.
func clip(s string) string { return safetext.Shorten(s, 64+len("…")) }

func quote(s string) string { return strconv.Quote(clip(s)) }
