package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// object is a JSON object of a response: a Pet or an Error.
type object map[string]json.RawMessage

// array is a JSON array.
type array []json.RawMessage

// id returns a pet's id as it is written.
func (o object) id() string { return string(o["id"]) }

// read reads a JSON value: an object, an array, a string or, without a fraction or an exponent, an
// int64. Unlike encoding/json, it takes null for none of them.
func read[T object | array | string | int64](raw []byte) (v T, err error) {
	err = json.Unmarshal(raw, &v)
	if err != nil || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return v, fmt.Errorf("%s is no %s", show(raw), reflect.TypeFor[T]().Name())
	}
	return v, nil
}

// same compares two values, of which strings may be escaped in different ways.
func same(a, b []byte) bool {
	s, err1 := read[string](a)
	t, err2 := read[string](b)
	return bytes.Equal(a, b) || err1 == nil && err2 == nil && s == t
}

// show returns the beginning of a response as one line.
func show(raw []byte) string {
	const most = 160
	switch {
	case len(raw) == 0:
		return "nothing"
	case len(raw) > most:
		return fmt.Sprintf("%q…", raw[:most])
	}
	return fmt.Sprintf("%q", raw)
}

// objects returns the objects in the array of a listPets, or else the object of a response, as far
// as they can be read.
func (x *exchange) objects() (list []object) {
	items := array{x.response}
	if x.success() && x.method == http.MethodGet && !strings.HasPrefix(x.path, "/pets/") {
		items, _ = read[array](x.response)
	}
	for _, item := range items {
		if o, err := read[object](item); err == nil {
			list = append(list, o)
		}
	}
	return list
}

// pet reads the body of a success as one Pet.
func (x *exchange) pet() object {
	if !x.success() {
		skipf("there is no pet to look at: %s", x)
	}
	pet, err := read[object](x.response)
	if err != nil {
		x.failf("the body is no Pet: %v", err)
	}
	return pet
}

// pets reads the body of a success as Pets.
func (x *exchange) pets() []object {
	if !x.success() {
		skipf("there is no list to look at: %s", x)
	}
	items, err := read[array](x.response)
	if err != nil {
		x.failf("the body is no Pets: %v", err)
	}
	list := x.objects()
	if len(list) < len(items) {
		x.failf("an element is no Pet")
	}
	return list
}

// wantField fails unless a field of a pet has a value, nil for none.
func (x *exchange) wantField(pet object, field string, value []byte) {
	if !same(pet[field], value) {
		x.failf("%s of the pet %s must be %s and is %s", field, pet.id(), show(value), show(pet[field]))
	}
}

// rule is what a field of an object in a response must keep to.
type rule func(raw json.RawMessage, x *exchange) error

func is[T string | int64](raw json.RawMessage, _ *exchange) error {
	_, err := read[T](raw)
	return err
}

func isPetStatus(raw json.RawMessage, _ *exchange) error {
	if status, err := read[string](raw); raw != nil && (err != nil || !slices.Contains(statuses, status)) {
		return fmt.Errorf("%s is not in the enumeration", show(raw))
	}
	return nil
}

// isStatus is the rule of an Error's status.
func isStatus(raw json.RawMessage, x *exchange) error {
	if n, err := read[int64](raw); err != nil || n != int64(x.status) {
		return fmt.Errorf("%s is not %d", show(raw), x.status)
	}
	return nil
}
