package spec

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// faultField is a field of a fault, by the name that it has in a text.
type faultField struct {
	name   string
	isText bool                     // whether its JSON is a string that may look like a number
	set    func(value string) error // a header in the form "Name: value" or "Name"
	values func() []string          // none if it is not set
}

const forever = "forever"

// fieldsOf returns the fields of a fault. Match is not among them: no text can carry a function.
func fieldsOf(f *fake.Fault) []faultField {
	return []faultField{
		field("status", &f.Status, parseNumber, strconv.Itoa),
		textField("code", &f.Code),
		textField("message", &f.Message),
		textField("retry-after", &f.RetryAfter),
		{"header", true, func(v string) error { setHeader(&f.Header, v); return nil }, func() []string { return headerLines(f.Header) }},
		{"body", true, func(v string) error { f.Body = []byte(v); return nil }, func() []string { return bodyText(f.Body) }},
		field("wire", &f.Wire, fakecontrol.ParseWire, func(w fake.Wire) string { return string(w) }),
		field("delay", &f.Delay, ParseDuration, FormatDuration),
		field("after-commit", &f.AfterCommit, ParseBool, strconv.FormatBool),
		textField("operation", &f.Operation),
		textField("key", &f.APIKey),
		field("skip", &f.Skip, parseNumber, strconv.Itoa),
		field("times", &f.Times, parseTimes, formatTimes),
		field("for", &f.For, ParseDuration, FormatDuration),
		field("chance", &f.Chance, parseProbability, formatProbability),
	}
}

func field[T comparable](name string, at *T, parse func(string) (T, error), format func(T) string) faultField {
	return faultField{
		name,
		false,
		func(v string) (err error) {
			if *at, err = parse(v); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
			return err
		},
		func() []string {
			if *at == *new(T) {
				return nil
			}
			return []string{format(*at)}
		},
	}
}

func textField(name string, at *string) faultField {
	asItIs := func(v string) (string, error) { return v, nil }
	f := field(name, at, asItIs, func(v string) string { return v })
	f.isText = true
	return f
}

// FaultFields returns the names of the fields of a fault in texts.
func FaultFields() (names []string) {
	for _, field := range fieldsOf(new(fake.Fault)) {
		names = append(names, field.name)
	}
	return names
}

// fieldOf returns the field of a fault with a name. spell spells names as the text does.
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

// setHeader sets a header of the response from "Name: value", or takes it away for "Name".
func setHeader(h *http.Header, line string) {
	if name, value, ok := strings.Cut(line, ":"); ok {
		addHeader(h, name, strings.TrimSpace(value))
	} else {
		addHeader(h, line)
	}
}

// addHeader adds values to a header of the response. A header without values is taken away.
func addHeader(h *http.Header, name string, values ...string) {
	if *h == nil {
		*h = make(http.Header)
	}
	name = http.CanonicalHeaderKey(strings.TrimSpace(name))
	(*h)[name] = append((*h)[name], values...)
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

func parseNumber(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", Clip(value))
	}
	return n, nil
}

func parseTimes(value string) (int, error) {
	if value == forever {
		return fake.Forever, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is neither a number of at least 1 nor %s", Clip(value), forever)
	}
	return n, nil
}

func formatTimes(n int) string {
	if n == fake.Forever {
		return forever
	}
	return strconv.Itoa(n)
}

func parseProbability(value string) (float64, error) {
	p, err := strconv.ParseFloat(value, 64)
	// Written so that NaN is refused. 0 is refused because the fake takes it for "always".
	if err != nil || !(p > 0 && p <= 1) {
		return 0, fmt.Errorf("%q is not a probability above 0 and up to 1", Clip(value))
	}
	return p, nil
}

// FormatDuration writes a duration as ParseDuration reads it: 10m, not 10m0s.
func FormatDuration(d time.Duration) string {
	text := d.String()
	for _, unit := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, unit) {
			text = strings.TrimSuffix(text, unit[1:])
		}
	}
	return text
}

func formatProbability(p float64) string { return strconv.FormatFloat(p, 'g', -1, 64) }

// ShowFault returns the fields of a fault that are set, as ParseFaultJSON reads them.
func ShowFault(f fake.Fault) map[string]any {
	f.Times = formatted(f.Times)
	shown := make(map[string]any)
	for _, field := range fieldsOf(&f) {
		for _, value := range field.values() {
			if shown[jsonName(field.name)] = value; !field.isText && json.Valid([]byte(value)) {
				shown[jsonName(field.name)] = json.RawMessage(value)
			}
		}
	}
	if len(f.Header) > 0 {
		header := make(map[string][]string)
		for name, values := range f.Header {
			header[name] = append([]string{}, values...) // not null for a header that is taken away
		}
		shown["header"] = header
	}
	return shown
}

// formatted returns how often a fault applies, for which the zero value is once.
func formatted(times int) int {
	if times == 0 {
		return 1
	}
	return times
}

// FormatFault writes a fault as ParseFaults reads it.
func FormatFault(f fake.Fault) string {
	if f.Times == 1 {
		f.Times = 0 // the default
	}
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
