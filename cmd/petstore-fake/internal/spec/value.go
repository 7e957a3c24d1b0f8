// Package spec reads what users write, on the command line and in the bodies of admin requests:
// durations, keys, faults, pets, JSON and queries. Its errors name the field and the reason, and
// never repeat an API key.
package spec

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/internal/service"
)

// ParseBool reads a truth value as [strconv.ParseBool] does.
func ParseBool(text string) (bool, error) {
	on, err := strconv.ParseBool(text)
	if err != nil {
		err = fmt.Errorf("%q is neither true nor false", Clip(text))
	}
	return on, err
}

func parseNumber(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		err = fmt.Errorf("%q is not a whole number", Clip(text))
	}
	return n, err
}

func parseProbability(text string) (float64, error) {
	p, err := strconv.ParseFloat(text, 64)
	// Written so that NaN is refused. 0 is refused because the fake takes it for "always".
	if err != nil || !(p > 0 && p <= 1) {
		return 0, fmt.Errorf("%q is not a probability above 0 and up to 1", Clip(text))
	}
	return p, nil
}

const forever = "forever"

// parseTimes reads how often a fault strikes.
func parseTimes(text string) (int, error) {
	if text == forever {
		return fake.Forever, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is neither a number of at least 1 nor %s", Clip(text), forever)
	}
	return n, nil
}

func formatTimes(n int) string {
	if n == fake.Forever {
		return forever
	}
	return strconv.Itoa(n)
}

// ParseTime reads a time of RFC 3339, such as 2030-12-05T00:00:00Z, or without a zone, which is UTC.
func ParseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, CheckTime(t)
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time such as 2030-12-05T00:00:00Z", Clip(text))
}

// CheckTime returns an error for a time that the fake's clock cannot show: its limits are Unix
// timestamps from 1970 on, and times after 2291 are further from the machine's clock than a
// [time.Duration] reaches.
func CheckTime(t time.Time) error {
	if year := t.UTC().Year(); year < 1970 || year > 2291 {
		return fmt.Errorf("the year %d is not between 1970 and 2291", year)
	}
	return nil
}

// ParseStep reads a duration that may be negative.
func ParseStep(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		err = fmt.Errorf("%q is not a duration, such as 50ms or 1h30m", Clip(text))
	}
	return d, err
}

// ParseDuration reads a duration that is not negative.
func ParseDuration(text string) (time.Duration, error) {
	d, err := ParseStep(text)
	if err == nil && d < 0 {
		err = fmt.Errorf("%s is negative", text)
	}
	return d, err
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

// Key is an API key with its plan.
type Key struct {
	// Key is the key itself. Plan is nil if no plan was given.
	Key  string
	Plan *fake.Plan
}

// ParseKeys reads keys separated by spaces, each as KEY or KEY=PLAN. A key may end in =, as base64
// does. No error repeats a key.
func ParseKeys(text string) (keys []Key, err error) {
	for word := range strings.FieldsSeq(text) {
		k := Key{Key: word}
		if i := strings.LastIndexByte(word, '='); i > 0 && i < len(word)-1 {
			plan, err := ParseText[fake.Plan](word[i+1:])
			if err != nil {
				return nil, errors.New("the text behind = is not a plan, which is " + PlanNames + ": KEY=PLAN")
			}
			k = Key{word[:i], &plan}
		}
		if err := CheckKey(k.Key); err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	if keys == nil {
		err = CheckKey("")
	}
	return keys, err
}

// CheckKey returns an error for a key that the client would refuse, too. It does not repeat the
// key.
func CheckKey(key string) error {
	if problem := credential.KeyProblem(key); problem != "" {
		return errors.New("the key " + problem)
	}
	return nil
}

// ParseJSON reads a text that must be one JSON value, which kind describes. Its errors repeat no
// value, which may be a key.
func ParseJSON(text []byte, value any, kind string) error {
	text = bytes.TrimSpace(text)
	err := json.Unmarshal(text, value)
	if bad, notJSON := errors.AsType[*jsontext.SyntacticError](err); notJSON {
		return fmt.Errorf("it is not JSON: %w, at byte %d", bad.Err, bad.ByteOffset)
	}
	if bad, wrong := errors.AsType[*json.SemanticError](err); wrong && bad.JSONPointer != "" {
		name := Clip(bad.JSONPointer.LastToken())
		return fmt.Errorf("%s must be of type %s, not %s", name, bad.GoType, bad.JSONKind)
	}
	if err != nil || string(text) == "null" {
		return errors.New("it must be " + kind)
	}
	return nil
}

// PlanNames are the names that [fake.Plan] reads.
const PlanNames = "free, pro, business or enterprise:M,D"

// ParseText reads a value that can read itself, such as a plan.
func ParseText[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](text string) (value T, err error) {
	err = P(&value).UnmarshalText([]byte(text))
	return value, err
}

// ParseNewPet reads a NewPet object as createPet does, but a field that it does not know is an
// error.
func ParseNewPet(text []byte) (petstore.NewPet, error) {
	p, unknown, err := service.ReadNewPet("the text", text)
	if err == nil && len(unknown) > 0 {
		err = errors.New(service.NoSuchField(unknown[0]))
	}
	if err != nil {
		return petstore.NewPet{}, err
	}
	return petstore.NewPet{Name: p.Name, CategoryID: p.CategoryID, Status: petstore.PetStatus(p.Status)}, nil
}

// ParsePets reads a JSON array of NewPet objects.
func ParsePets(text []byte) (pets []petstore.NewPet, err error) {
	var list []jsontext.Value
	if err := ParseJSON(text, &list, "a JSON array of NewPet objects"); err != nil {
		return nil, err
	}
	for _, raw := range list {
		p, err := ParseNewPet(raw)
		if err != nil {
			return nil, fmt.Errorf("pet %d of the array: %w", len(pets)+1, err)
		}
		pets = append(pets, p)
	}
	return pets, nil
}

// ReadQuery returns the query of a request, which may have each of the allowed parameters once.
func ReadQuery(r *http.Request, allowed ...string) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, errors.New("the query cannot be read")
	}
	for name, given := range query {
		if !slices.Contains(allowed, name) {
			return nil, fmt.Errorf("there is no parameter %q; there are: %s", Clip(name), strings.Join(allowed, ", "))
		}
		if len(given) > 1 {
			return nil, fmt.Errorf("the parameter %s is given twice", name)
		}
	}
	return query, nil
}

// ReadNumber reads a parameter that is a number between two bounds. It returns otherwise for "".
func ReadNumber(name, value string, least, most, otherwise int) (int, error) {
	if value == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s is %q; it must be a number between %d and %d", name, Clip(value), least, most)
	}
	return n, nil
}

// Plain removes the prefix of an error of package fake, such as "fake: Fault: ", which means
// nothing to users of the program.
func Plain(err error) error {
	if err == nil {
		return nil
	}
	_, reason, _ := strings.Cut(strings.TrimPrefix(err.Error(), "fake: "), ": ")
	return errors.New(reason)
}

// Clip returns a text for an error message, shortened to what recognizes it.
func Clip(s string) string { return safetext.Shorten(s, 64) }
