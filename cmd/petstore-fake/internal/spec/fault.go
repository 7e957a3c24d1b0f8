package spec

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/petstore/petstore-go/fake"
)

// ParseFaults reads faults as text, such as status=503,times=2; wire=reset, or as a JSON object. No
// error repeats a key.
func ParseFaults(text string) ([]fake.Fault, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") {
		f, err := ParseFaultJSON([]byte(text))
		return []fake.Fault{f}, err
	}
	var faults []fake.Fault
	for _, one := range split(strings.TrimSuffix(text, ";"), ';') {
		f, err := parseFault(one)
		if err != nil {
			return nil, err
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// parseFault reads one fault.
func parseFault(text string) (fake.Fault, error) {
	var f fake.Fault
	seen := make(map[string]bool)
	for _, word := range split(text, ',') {
		name, value, err := parseAssignment(word)
		if err != nil {
			return f, err
		}
		if seen[name] && name != "header" {
			return f, fmt.Errorf("%s is given twice", name)
		}
		seen[name] = true
		field, err := fieldOf(&f, name, textName)
		if err == nil {
			err = field.set(value)
		}
		if err != nil {
			return f, err
		}
	}
	return f, plain(f.Validate())
}

// parseAssignment reads name=value, where the value may be quoted, or a name alone.
func parseAssignment(text string) (name, value string, err error) {
	name, value, _ = strings.Cut(text, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if name == "after-commit" && value == "" {
		value = "true"
	}
	if strings.HasPrefix(value, `"`) {
		if value, err = strconv.Unquote(value); err != nil {
			err = fmt.Errorf("%s begins with a quote and is not one quoted Go string", Clip(name))
		}
	}
	return name, value, err
}

// split splits a text at a separator, but not within values that are quoted.
func split(text string, separator byte) []string {
	var parts []string
	begin, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted && i > 0 && text[i-1] == '='
		case text[i] == separator && !quoted:
			parts = append(parts, text[begin:i])
			begin = i + 1
		}
	}
	return append(parts, text[begin:])
}

// ParseFaultJSON reads a fault as the admin routes accept it: an object with the fields' names in
// camelCase. A value that is not a string is used as its text, so that body can be a JSON value. null
// leaves a field as it is.
func ParseFaultJSON(text []byte) (fake.Fault, error) {
	var f fake.Fault
	var fields map[string]jsontext.Value
	if err := ParseJSON(text, &fields, "a JSON object"); err != nil {
		return f, err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, err := fieldOf(&f, name, jsonName)
		switch raw := fields[name]; {
		case err != nil || raw.Kind() == 'n':
		case name == "header":
			err = setHeaders(&f.Header, raw)
		default:
			value := string(raw)
			_ = json.Unmarshal(raw, &value) // an error leaves value as it is: it is not a string
			err = field.set(value)
		}
		if err != nil {
			return f, err
		}
	}
	return f, plain(f.Validate())
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

// setHeaders reads {"Name": "value"} or {"Name": ["value", ...]}. An empty list removes the header.
func setHeaders(h *http.Header, raw jsontext.Value) error {
	var headers map[string]jsontext.Value
	if ParseJSON(raw, &headers, "an object") != nil {
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
