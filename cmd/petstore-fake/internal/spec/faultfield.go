package spec

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// faultField is a field of a fault with its name in texts.
type faultField struct {
	name string
	at   any // points to the field
}

// times is the type of a fault's Times, which texts may give as the word forever.
type times int

const forever = "forever"

// fieldsOf returns the fields of a fault. Match is not among them: no text can carry a function.
func fieldsOf(f *fake.Fault) []faultField {
	return []faultField{
		{"operation", &f.Operation},
		{"key", &f.APIKey},
		{"skip", &f.Skip},
		{"times", (*times)(&f.Times)},
		{"for", &f.For},
		{"chance", &f.Chance},
		{"delay", &f.Delay},
		{"after-commit", &f.AfterCommit},
		{"status", &f.Status},
		{"code", &f.Code},
		{"message", &f.Message},
		{"retry-after", &f.RetryAfter},
		{"header", &f.Header},
		{"body", &f.Body},
		{"wire", &f.Wire},
	}
}

// FaultFields returns the names of the fields of a fault in texts.
func FaultFields() (names []string) {
	for _, field := range fieldsOf(new(fake.Fault)) {
		names = append(names, field.name)
	}
	return names
}

// fieldOf returns the field of a fault with a name. spell is textName or jsonName.
func fieldOf(f *fake.Fault, name string, spell func(string) string) (faultField, error) {
	var names []string
	for _, field := range fieldsOf(f) {
		if spell(field.name) == name {
			return field, nil
		}
		names = append(names, spell(field.name))
	}
	problem := "a field is missing"
	if name != "" {
		problem = fmt.Sprintf("there is no field %q", Clip(name))
	}
	return faultField{}, fmt.Errorf("%s; a fault has %s", problem, strings.Join(names, ", "))
}

// set reads the value of the field, a header in the form "Name: value" or "Name".
func (field faultField) set(value string) (err error) {
	switch at := field.at.(type) {
	case *string:
		*at = value
	case *[]byte:
		*at = []byte(value)
	case *int:
		*at, err = parseNumber(value)
	case *times:
		*at, err = parseTimes(value)
	case *float64:
		*at, err = parseProbability(value)
	case *bool:
		*at, err = ParseBool(value)
	case *time.Duration:
		*at, err = ParseDuration(value)
	case *http.Header:
		if name, one, ok := strings.Cut(value, ":"); ok {
			addHeader(at, name, strings.TrimSpace(one))
		} else {
			addHeader(at, name)
		}
	case *fake.Wire:
		*at, err = fakecontrol.ParseWire(value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", field.name, err)
	}
	return nil
}

// addHeader adds values to a header of the response. A header without values is taken away.
func addHeader(h *http.Header, name string, values ...string) {
	if *h == nil {
		*h = make(http.Header)
	}
	name = http.CanonicalHeaderKey(strings.TrimSpace(name))
	(*h)[name] = append((*h)[name], values...)
}

func parseNumber(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", Clip(value))
	}
	return n, nil
}

func parseTimes(value string) (times, error) {
	if value == forever {
		return fake.Forever, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is neither a number of at least 1 nor %s", Clip(value), forever)
	}
	return times(n), nil
}

func parseProbability(value string) (float64, error) {
	p, err := strconv.ParseFloat(value, 64)
	// Written so that NaN is refused. 0 is refused because the fake takes it for "always".
	if err != nil || !(p > 0 && p <= 1) {
		return 0, fmt.Errorf("%q is not a probability above 0 and up to 1", Clip(value))
	}
	return p, nil
}

// show returns the value of a field for JSON, and nil if the field is not set.
func (field faultField) show() any {
	value := reflect.ValueOf(field.at).Elem()
	if at, ok := field.at.(*times); ok && *at >= 0 {
		return max(*at, 1)
	} else if value.IsZero() {
		return nil
	}
	switch at := field.at.(type) {
	case *times:
		return forever
	case *[]byte:
		return string(*at)
	case *http.Header:
		if len(*at) == 0 {
			return nil
		}
		shown := make(map[string][]string)
		for name, values := range *at {
			shown[name] = append([]string{}, values...) // not null for a header that is taken away
		}
		return shown
	case fmt.Stringer: // a duration or a wire
		return at.String()
	}
	return value.Interface()
}
