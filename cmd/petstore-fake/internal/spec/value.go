// Package spec reads what users write, on the command line and in the bodies of admin requests:
// durations, keys, faults, pets, JSON and queries. Its errors name the field and the reason, and
// never repeat an API key.
package spec

import (
	"encoding"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
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

// Reader returns a function that reads a text, or says what it must be. The value must fit, unless
// fits is nil.
func Reader[T any](read func(string) (T, error), fits func(T) bool, what string) func(string) (T, error) {
	return func(text string) (T, error) {
		value, err := read(text)
		if err == nil && (fits == nil || fits(value)) {
			return value, nil
		}
		return *new(T), fmt.Errorf("%q is not %s", Clip(text), what)
	}
}

// ParseBool reads a truth value as [strconv.ParseBool] does.
var ParseBool = Reader(strconv.ParseBool, nil, "true or false")

// ParseStep reads a duration that may be negative.
var ParseStep = Reader(time.ParseDuration, nil, "a duration, such as 50ms or -1h30m")

// ParseDuration reads a duration that is not negative.
var ParseDuration = Reader(time.ParseDuration, func(d time.Duration) bool { return d >= 0 },
	"a duration of at least 0, such as 50ms or 1h30m")

// ParseTime reads a time of RFC 3339, such as 2030-12-05T00:00:00Z, or without a zone, which is
// UTC.
var ParseTime = Reader(func(text string) (t time.Time, err error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err = time.Parse(layout, text); err == nil {
			break
		}
	}
	return t, err
}, IsTime, "a time from 1970 to 2291, such as 2030-12-05T00:00:00Z")

// IsTime reports whether the fake's clock can show a time: its limits are Unix timestamps from 1970
// on, and times after 2291 are further from the machine's clock than a [time.Duration] reaches.
func IsTime(t time.Time) bool { return t.UTC().Year() >= 1970 && t.UTC().Year() <= 2291 }

const forever = "forever"

// parseTimes reads how often a fault strikes.
func parseTimes(text string) (int, error) {
	if text == forever {
		return fake.Forever, nil
	}
	return Reader(strconv.Atoi, func(n int) bool { return n > 0 }, "a number of at least 1, or forever")(text)
}

func formatTimes(n int) string {
	if n == fake.Forever {
		return forever
	}
	return strconv.Itoa(n)
}

var zeros = regexp.MustCompile(`([hm])0[ms](0s)?$`)

// FormatDuration writes a duration as ParseDuration reads it: 10m, not 10m0s.
func FormatDuration(d time.Duration) string { return zeros.ReplaceAllString(d.String(), "$1") }

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
		if problem := credential.KeyProblem(k.Key); problem != "" {
			return nil, errors.New("the key " + problem)
		}
		keys = append(keys, k)
	}
	if keys == nil {
		err = errors.New("the key is empty")
	}
	return keys, err
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

// ParsePets reads a NewPet object or a JSON array of them.
func ParsePets(text string) (pets []petstore.NewPet, err error) {
	if text = strings.TrimSpace(text); strings.HasPrefix(text, "{") {
		text = "[" + text + "]"
	}
	var list []jsontext.Value
	err = json.Unmarshal([]byte(text), &list)
	if bad, notJSON := errors.AsType[*jsontext.SyntacticError](err); notJSON {
		return nil, fmt.Errorf("it is not JSON: %w, at byte %d", bad.Err, bad.ByteOffset)
	}
	if list == nil {
		return nil, errors.New("it must be a NewPet object or a JSON array of them")
	}
	for i, raw := range list {
		p, unknown, err := service.ReadNewPet("the text", raw)
		if err == nil && len(unknown) > 0 {
			err = errors.New(service.NoSuchField(unknown[0]))
		}
		if err != nil {
			return nil, fmt.Errorf("pet %d of %d: %w", i+1, len(list), err)
		}
		pets = append(pets, petstore.NewPet{Name: p.Name, CategoryID: p.CategoryID, Status: petstore.PetStatus(p.Status)})
	}
	return pets, nil
}

// ParseUsage reads the usage of windows, such as minute=60,day=1000.
var ParseUsage = Reader(func(text string) (map[string]int, error) {
	usage := make(map[string]int)
	for word := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(word, "=")
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil || name != "minute" && name != "day" {
			return nil, errors.New("no usage")
		}
		usage[name] = int(n)
	}
	return usage, nil
}, nil, "the usage of a window or both, such as minute=60,day=1000")

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

// ReadNumber reads a parameter that is a number between two bounds.
func ReadNumber(name, value string, least, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s: %q is not a number between %d and %d", name, Clip(value), least, most)
	}
	return n, nil
}

// Plain removes the prefix of an error of package fake, such as "fake: Fault: ", which means
// nothing to users of the program.
func Plain(err error) error {
	_, reason, _ := strings.Cut(strings.TrimPrefix(err.Error(), "fake: "), ": ")
	return errors.New(reason)
}

// Clip shortens a text for an error message. What is left is enough to recognise it.
func Clip(s string) string { return safetext.Shorten(s, 64) }
