package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/petstore/petstore-go/internal/safetext"
)

// object is a JSON object of a response: a Pet or an Error.
type object map[string]json.RawMessage

// array is a JSON array.
type array []json.RawMessage

// id returns a pet's id as it is written.
func (o object) id() string { return string(o["id"]) }

// read reads a JSON value: an object, an array, a string, or an int64 without fraction or exponent.
// Unlike encoding/json, it accepts null for none of them.
func read[T object | array | string | int64](raw []byte) (v T, err error) {
	err = json.Unmarshal(raw, &v)
	if err != nil || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return v, fmt.Errorf("%s is no %s", show(raw), reflect.TypeFor[T]().Name())
	}
	return v, nil
}

// is reports whether a JSON value is of a type.
func is[T string | int64](raw []byte) bool {
	_, err := read[T](raw)
	return err == nil
}

func isPetStatus(raw []byte) bool {
	status, err := read[string](raw)
	return raw == nil || err == nil && slices.Contains(statuses, status)
}

// same reports whether two values are equal. Their strings may be escaped in different ways.
func same(a, b []byte) bool {
	s, err1 := read[string](a)
	t, err2 := read[string](b)
	return bytes.Equal(a, b) || err1 == nil && err2 == nil && s == t
}

// show returns a JSON value as one short line.
func show(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	return safetext.Line(string(raw))
}

// objects returns the objects of a response that can be read: those in the array of a listPets, or
// the one that is the whole body. The error is about a value that is not an object.
func (x *exchange) objects() (list []object, err error) {
	items := array{json.RawMessage(x.response)}
	if x.success() && x.method == http.MethodGet && !strings.HasPrefix(x.path, "/pets/") {
		items, err = read[array]([]byte(x.response))
	}
	for _, item := range items {
		o, wrong := read[object](item)
		if wrong != nil {
			err = wrong
			continue
		}
		list = append(list, o)
	}
	return list, err
}

// pets reads the body of a success as a Pet, or as Pets.
func (x *exchange) pets() []object {
	if !x.success() {
		skipf("there is no pet to look at: %s", x)
	}
	list, err := x.objects()
	if err != nil {
		x.failf("the body is not as described: %v", err)
	}
	return list
}

// pet reads the body of a success as one Pet.
func (x *exchange) pet() object {
	list := x.pets()
	if len(list) != 1 {
		x.failf("the body is no Pet")
	}
	return list[0]
}

// wantPet fails unless a pet has the fields that createPet returned. It may have a status that it
// was not given: section 3 does not show the default.
func (x *exchange) wantPet(pet, created object) {
	for _, field := range []string{"id", "name", "categoryId", "status"} {
		if field != "status" || created[field] != nil {
			x.wantField(pet, field, created[field])
		}
	}
}

// wantField fails unless a field of a pet has this value; nil means that there must be no field.
func (x *exchange) wantField(pet object, field string, value []byte) {
	if !same(pet[field], value) {
		x.failf("%s of the pet %s must be %s and is %s", field, pet.id(), show(value), show(pet[field]))
	}
}
