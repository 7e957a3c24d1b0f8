package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/fake"
)

// FaultFields are the fields of a fault as a text has them. Match is a function, which no text can
// carry.
var FaultFields = []string{
	"operation", "key", "skip", "times", "for", "chance", "delay", "after-commit", "status", "code", "message",
	"retry-after", "header", "body", "wire",
}

// ParseFaults reads faults as text, such as status=503,times=2; wire=reset, or as a JSON object. No
// error repeats a key.
func ParseFaults(text string) ([]fake.Fault, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		f, err := ParseFaultJSON([]byte(text))
		return []fake.Fault{f}, err
	}
	var faults []fake.Fault
	for rest := text; ; {
		var f fake.Fault
		var err error
		if f, rest, err = parseFault(rest); err != nil {
			return nil, err
		}
		faults = append(faults, f)
		if strings.TrimSpace(rest) == "" {
			return faults, nil
		}
	}
}

// parseFault reads one fault and returns what follows its semicolon.
func parseFault(text string) (f fake.Fault, rest string, err error) {
	seen := make(map[string]bool)
	for rest = text; ; {
		var name, value string
		var end byte
		if name, value, end, rest, err = cutField(rest); err != nil {
			return f, "", err
		}
		if name == "after-commit" && value == "" {
			value = "true"
		}
		if seen[name] && name != "header" {
			return f, "", fmt.Errorf("%s is given twice", name)
		}
		seen[name] = true
		if err := setFaultField(&f, name, value); err != nil {
			return f, "", err
		}
		if end != ',' {
			return f, rest, plain(f.Validate())
		}
	}
}

// cutField cuts name=value off a text, and the comma or semicolon behind it, which it returns as end.
func cutField(text string) (name, value string, end byte, rest string, err error) {
	i := strings.IndexAny(text, "=,;")
	if i < 0 || text[i] != '=' {
		name, end, rest = cutSeparator(text, i)
		return name, "", end, rest, nil
	}
	name, text = strings.TrimSpace(text[:i]), text[i+1:]
	quoted := ""
	if strings.HasPrefix(text, `"`) {
		if quoted, err = strconv.QuotedPrefix(text); err != nil {
			return "", "", 0, "", fmt.Errorf("%s has a quote that is not closed, or a wrong escape", Clip(name))
		}
		text = text[len(quoted):]
	}
	value, end, rest = cutSeparator(text, strings.IndexAny(text, ",;"))
	if quoted == "" {
		return name, value, end, rest, nil
	}
	if value != "" {
		return "", "", 0, "", fmt.Errorf("%s has something behind its closing quote", Clip(name))
	}
	value, err = strconv.Unquote(quoted)
	return name, value, end, rest, err
}

// cutSeparator cuts a text at the separator at i; there is none if i is negative.
func cutSeparator(text string, i int) (word string, end byte, rest string) {
	if i < 0 {
		return strings.TrimSpace(text), 0, ""
	}
	return strings.TrimSpace(text[:i]), text[i], text[i+1:]
}

// ParseFaultJSON reads a fault as the admin routes take it: the fields by their names in camelCase. A
// value that is no string stands for its own text, so that a body can be given as JSON.
func ParseFaultJSON(text []byte) (fake.Fault, error) {
	var f fake.Fault
	var fields map[string]json.RawMessage
	if err := DecodeStrict(text, &fields); err != nil {
		return f, err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := setJSONField(&f, name, fields[name]); err != nil {
			return f, err
		}
	}
	return f, plain(f.Validate())
}

// setJSONField sets one field of JSON. null is as good as leaving it out.
func setJSONField(f *fake.Fault, name string, raw json.RawMessage) error {
	field, err := fieldOf(name)
	switch {
	case err != nil:
		return err
	case string(raw) == "null":
		return nil
	case field == "header":
		return setHeaders(f, raw)
	}
	value := string(raw)
	_ = json.Unmarshal(raw, &value) // what is not a string stays as it is
	return setFaultField(f, field, value)
}

// jsonName is the name of a field in JSON: afterCommit for after-commit.
func jsonName(field string) string {
	first, second, two := strings.Cut(field, "-")
	if !two {
		return field
	}
	return first + strings.ToUpper(second[:1]) + second[1:]
}

// fieldOf returns the field that a name in JSON stands for.
func fieldOf(name string) (string, error) {
	var names []string
	for _, field := range FaultFields {
		if jsonName(field) == name {
			return field, nil
		}
		names = append(names, jsonName(field))
	}
	return "", fmt.Errorf("there is no field %q; a fault has %s", Clip(name), strings.Join(names, ", "))
}

// setHeaders reads {"Name": "value"} or {"Name": ["value", ...]}; an empty list takes the header away.
func setHeaders(f *fake.Fault, raw json.RawMessage) error {
	var headers map[string]json.RawMessage
	if json.Unmarshal(raw, &headers) != nil {
		return errors.New("header must be an object with a string or a list of strings for each name")
	}
	f.Header = make(http.Header)
	for name, raw := range headers {
		var values []string
		if one := new(string); json.Unmarshal(raw, one) == nil {
			values = []string{*one}
		} else if json.Unmarshal(raw, &values) != nil {
			return fmt.Errorf("header %q must be a string or a list of strings", Clip(name))
		}
		if len(values) == 0 {
			f.Header[http.CanonicalHeaderKey(name)] = nil
		}
		for _, v := range values {
			f.Header.Add(name, v)
		}
	}
	return nil
}

// setFaultField sets one field, header in the form "Name: value" or "Name".
func setFaultField(f *fake.Fault, name, value string) (err error) {
	switch name {
	case "operation":
		f.Operation = value
	case "key":
		f.APIKey = value
	case "skip":
		f.Skip, err = number(value)
	case "times":
		f.Times, err = times(value)
	case "for":
		f.For, err = ParseDuration(value)
	case "chance":
		f.Chance, err = probability(value)
	case "delay":
		f.Delay, err = ParseDuration(value)
	case "after-commit":
		f.AfterCommit, err = truth(value)
	case "status":
		f.Status, err = number(value)
	case "code":
		f.Code = value
	case "message":
		f.Message = value
	case "retry-after":
		f.RetryAfter = value
	case "header":
		addHeader(f, value)
	case "body":
		f.Body = []byte(value)
	case "wire":
		f.Wire, err = fake.ParseWire(value)
		err = plain(err)
	case "":
		return fmt.Errorf("a field is missing; a fault has %s", strings.Join(FaultFields, ", "))
	default:
		return fmt.Errorf("there is no field %q; a fault has %s", Clip(name), strings.Join(FaultFields, ", "))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func addHeader(f *fake.Fault, text string) {
	if f.Header == nil {
		f.Header = make(http.Header)
	}
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		f.Header[http.CanonicalHeaderKey(strings.TrimSpace(name))] = nil
		return
	}
	f.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
}

func number(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", Clip(value))
	}
	return n, nil
}

func times(value string) (int, error) {
	if value == "forever" {
		return fake.Forever, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is neither a number of at least 1 nor forever", Clip(value))
	}
	return n, nil
}

func probability(value string) (float64, error) {
	p, err := strconv.ParseFloat(value, 64)
	// Not written as p <= 0 || p > 1, which would let NaN pass. 0 would be "always" to the fake.
	if err != nil || math.IsNaN(p) || p <= 0 || p > 1 {
		return 0, fmt.Errorf("%q is not a probability above 0 and up to 1", Clip(value))
	}
	return p, nil
}

func truth(value string) (bool, error) {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("%q is neither true nor false", Clip(value))
	}
	return on, nil
}
