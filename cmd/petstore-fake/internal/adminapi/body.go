package adminapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

// readBody returns the body of a request, which must have one.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, httpjson.Errorf(http.StatusRequestEntityTooLarge, "the request body is larger than %d bytes", maxBody)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("the request body cannot be read: %w", err)
	case len(bytes.TrimSpace(body)) == 0:
		return nil, errors.New("the request body is missing; it must be a JSON object")
	}
	return body, nil
}

// readFields returns the fields of a body that must be an object with all of these fields and no
// other, each a string.
func readFields(r *http.Request, names ...string) (fields map[string]string, err error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	if err := spec.ParseJSON(body, &fields, "a JSON object"); err != nil {
		return nil, err
	}
	for name := range fields {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("unknown field %q; there are %s", spec.Clip(name), strings.Join(names, ", "))
		}
	}
	if len(fields) < len(names) {
		return nil, fmt.Errorf("a field is missing; there must be %s", strings.Join(names, ", "))
	}
	return fields, nil
}

// readField returns the value of a body with one field, such as {"plan":"free"}. parse reads it as
// it reads the value of a flag.
func readField[T any](r *http.Request, name string, parse func(string) (T, error)) (T, error) {
	fields, err := readFields(r, name)
	if err != nil {
		return *new(T), err
	}
	value, err := parse(fields[name])
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return value, err
}
