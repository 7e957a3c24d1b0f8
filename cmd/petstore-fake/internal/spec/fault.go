package spec

import (
	"fmt"
	"strconv"
	"strings"

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
