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

// compact returns the body without white space.
func (x *exchange) compact() string { return strings.Join(strings.Fields(string(x.response)), "") }

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

// quoted writes a JSON string.
func quoted(s string) []byte {
	b, _ := json.Marshal(s) // no string has an error
	return b
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

// A rule is what a field of an object in a response must keep to.
type rule func(raw json.RawMessage, x *exchange) error

func is[T string | int64](raw json.RawMessage, _ *exchange) error {
	_, err := read[T](raw)
	return err
}

func isPetStatus(raw json.RawMessage, _ *exchange) error {
	status, err := read[string](raw)
	switch {
	case raw == nil:
		return nil
	case err == nil && !slices.Contains(statuses, status):
		return fmt.Errorf("%q is not in the enumeration", status)
	}
	return err
}

// isStatus is the rule of an Error's status.
func isStatus(raw json.RawMessage, x *exchange) error {
	n, err := read[int64](raw)
	if err == nil && n != int64(x.status) {
		err = fmt.Errorf("%d is not %d", n, x.status)
	}
	return err
}
