package spec

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/fake"
)

// faultField is a field of a fault, by the name that it has in a text.
type faultField struct {
	name   string
	set    func(value string) error // a header in the form "Name: value" or "Name"
	values func() []string          // none if it is not set
}

// fieldsOf returns the fields of a fault. Match is not among them: no text can carry a function.
func fieldsOf(f *fake.Fault) []faultField {
	whole := Reader(strconv.Atoi, nil, "a whole number")
	// NaN does not fit, nor does 0, which the fake takes for "always".
	chance := Reader(func(text string) (float64, error) { return strconv.ParseFloat(text, 64) },
		func(p float64) bool { return p > 0 && p <= 1 }, "a probability above 0 and up to 1")
	return []faultField{
		field("status", &f.Status, whole, strconv.Itoa),
		textField("code", &f.Code),
		textField("message", &f.Message),
		textField("retry-after", &f.RetryAfter),
		{"header", func(v string) error { setHeader(&f.Header, v); return nil }, func() []string { return headerLines(f.Header) }},
		{"body", func(v string) error { f.Body = []byte(v); return nil }, func() []string { return bodyText(f.Body) }},
		textField("wire", &f.Wire),
		field("delay", &f.Delay, ParseDuration, FormatDuration),
		field("drip", &f.Drip, ParseDuration, FormatDuration),
		field("after-commit", &f.AfterCommit, ParseBool, strconv.FormatBool),
		textField("operation", &f.Operation),
		textField("key", &f.APIKey),
		field("skip", &f.Skip, whole, strconv.Itoa),
		field("times", &f.Times, parseTimes, formatTimes),
		field("for", &f.For, ParseDuration, FormatDuration),
		field("chance", &f.Chance, chance, func(p float64) string { return strconv.FormatFloat(p, 'g', -1, 64) }),
	}
}

func field[T comparable](name string, at *T, parse func(string) (T, error), format func(T) string) faultField {
	set := func(v string) (err error) {
		if *at, err = parse(v); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return err
	}
	values := func() []string {
		if *at == *new(T) {
			return nil
		}
		return []string{format(*at)}
	}
	return faultField{name, set, values}
}

func textField[T ~string](name string, at *T) faultField {
	asItIs := func(v string) (T, error) { return T(v), nil }
	return field(name, at, asItIs, func(v T) string { return string(v) })
}

// FaultFields returns the names of the fields of a fault in texts.
func FaultFields() (names []string) {
	for _, field := range fieldsOf(new(fake.Fault)) {
		names = append(names, field.name)
	}
	return names
}

func fieldOf(f *fake.Fault, name string) (faultField, error) {
	for _, field := range fieldsOf(f) {
		if field.name == name {
			return field, nil
		}
	}
	problem := "a field is missing"
	switch {
	case strings.HasPrefix(name, "{"): // there may be a key in it
		problem = "a fault is not JSON"
	case name != "":
		problem = fmt.Sprintf("there is no field %q", Clip(name))
	}
	return faultField{}, errors.New(problem + "; petstore-fake -help lists the fields")
}

// assignment matches a field at the beginning of a text, with the separator after it. A field is
// name=value, where the value may be quoted, or a name alone.
var assignment = regexp.MustCompile(`^([^=,;]*)(?:=\s*("(?:[^"\\]|\\.)*"|[^",;][^,;]*)?)?\s*([,;]|$)`)

// ParseFaults reads faults, such as status=503,times=2; wire=reset. No error repeats a key.
func ParseFaults(text string) (faults []fake.Fault, err error) {
	text = strings.TrimSuffix(strings.TrimSpace(text), ";")
	f, seen := fake.Fault{}, make(map[string]bool)
	for {
		found := assignment.FindStringSubmatch(text)
		if found == nil {
			name, _, _ := strings.Cut(text, "=")
			return nil, notQuoted(strings.TrimSpace(name))
		}
		name, value, separator := strings.TrimSpace(found[1]), strings.TrimSpace(found[2]), found[3]
		if seen[name] && name != "header" {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		if err := setField(&f, name, value); err != nil {
			return nil, err
		}
		seen[name], text = true, text[len(found[0]):]
		if separator == "," {
			continue
		}
		if err := f.Validate(); err != nil {
			return nil, Plain(err)
		}
		if faults = append(faults, f); separator == "" {
			return faults, nil
		}
		f, seen = fake.Fault{}, make(map[string]bool)
	}
}

func notQuoted(name string) error {
	return fmt.Errorf("%s begins with a quote and is not one quoted Go string", Clip(name))
}

func setField(f *fake.Fault, name, value string) error {
	field, err := fieldOf(f, name)
	switch {
	case err != nil:
		return err
	case name == "after-commit" && value == "":
		value = "true"
	case strings.HasPrefix(value, `"`):
		if value, err = strconv.Unquote(value); err != nil {
			return notQuoted(name)
		}
	}
	return field.set(value)
}

// setHeader sets a header of the response from "Name: value", or takes it away for "Name".
func setHeader(h *http.Header, line string) {
	name, value, given := strings.Cut(line, ":")
	name = http.CanonicalHeaderKey(strings.TrimSpace(name))
	if *h == nil {
		*h = make(http.Header)
	}
	values := (*h)[name]
	if given {
		values = append(values, strings.TrimSpace(value))
	}
	(*h)[name] = values
}

// headerLines writes a header in lines that setHeader reads.
func headerLines(h http.Header) (lines []string) {
	for name, values := range h {
		if len(values) == 0 {
			lines = append(lines, name)
		}
		for _, value := range values {
			lines = append(lines, name+": "+value)
		}
	}
	slices.Sort(lines)
	return lines
}

func bodyText(body []byte) []string {
	if body == nil {
		return nil
	}
	return []string{string(body)}
}

// FormatFault writes a fault as ParseFaults reads it.
func FormatFault(f fake.Fault) string {
	var words []string
	for _, field := range fieldsOf(&f) {
		for _, value := range field.values() {
			if strings.ContainsAny(value, `,;"`) || strings.TrimSpace(value) != value {
				value = strconv.Quote(value)
			}
			words = append(words, field.name+"="+value)
		}
	}
	return strings.Join(words, ", ")
}
