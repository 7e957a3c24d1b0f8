package spec

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/petstore/petstore-go/fake"
)

// ParseFaultJSON reads a fault as the admin routes take it: the fields by their names in camelCase. A
// value that is no string stands for its own text, so that a body can be given as JSON.
func ParseFaultJSON(text []byte) (fake.Fault, error) {
	var f fake.Fault
	fields, err := ParseObject(text)
	if err != nil {
		return f, err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, err := fieldOf(&f, name, jsonName)
		if err == nil {
			err = field.setJSON(fields[name])
		}
		if err != nil {
			return f, err
		}
	}
	return f, plain(f.Validate())
}

// setJSON reads the value of the field from JSON. null is as good as leaving the field out.
func (field faultField) setJSON(raw jsontext.Value) error {
	h, isHeader := field.at.(*http.Header)
	switch {
	case raw.Kind() == 'n':
		return nil
	case isHeader:
		return setHeaders(h, raw)
	}
	value := string(raw)
	_ = json.Unmarshal(raw, &value) // what is not a string stays as it is
	return field.set(value)
}

// textName returns the name of a field in a text, and jsonName that in JSON: afterCommit for
// after-commit.
func textName(field string) string { return field }

func jsonName(field string) string {
	first, second, two := strings.Cut(field, "-")
	if !two {
		return field
	}
	return first + strings.ToUpper(second[:1]) + second[1:]
}

// setHeaders reads {"Name": "value"} or {"Name": ["value", ...]}; an empty list takes the header away.
func setHeaders(h *http.Header, raw jsontext.Value) error {
	headers, err := ParseObject(raw)
	if err != nil {
		return errors.New("header must be an object with a string or a list of strings for each name")
	}
	*h = make(http.Header)
	for name, raw := range headers {
		values := make([]string, 1)
		if json.Unmarshal(raw, &values[0]) != nil && json.Unmarshal(raw, &values) != nil {
			return fmt.Errorf("header %q must be a string or a list of strings", Clip(name))
		}
		addHeader(h, name, values...)
	}
	return nil
}

// ShowFault returns the fields of a fault as ParseFaultJSON reads them, without those that are not
// set.
func ShowFault(f fake.Fault) map[string]any {
	shown := make(map[string]any)
	for _, field := range fieldsOf(&f) {
		if value := field.show(); value != nil {
			shown[jsonName(field.name)] = value
		}
	}
	return shown
}
