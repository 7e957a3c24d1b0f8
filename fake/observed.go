package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	petstore "github.com/petstore/petstore-go"
)

// Observation is what a service was seen to do where the service document is silent. Package
// conformance asks a service and writes its observations into a file; [WithObserved] reads it.
type Observation struct {
	Key      string `json:"key"`      // names the question
	Section  string `json:"section"`  // of the service document
	Question string `json:"question"` // in words
	Answer   string `json:"answer"`   // "not seen" if the service did not show one
}

// unseen is the answer to a question that a service did not show an answer to.
const unseen = "not seen"

// WithObserved makes the server act like a service that was observed. It reads a file of
// observations and sets the [Behavior] that they tell of; what was not seen stays as it is, so that
// [WithBehavior] may come before it. It panics if the file cannot be read or holds no observations.
// [ObservedDifferences] returns what the server does in another way all the same.
func WithObserved(file string) Option {
	list, err := readObserved(file)
	if err != nil {
		panic("fake: WithObserved: " + err.Error())
	}
	return func(c *config) { follow(&c.behavior, list) }
}

// ObservedDifferences returns the observations in a file that a server made [WithObserved] of that
// file does not reproduce, because no [Behavior] can be chosen for them: a test that depends on one
// of these is no proof for the service observed.
func ObservedDifferences(file string) ([]Observation, error) {
	list, err := readObserved(file)
	if err != nil {
		return nil, fmt.Errorf("fake: ObservedDifferences: %w", err)
	}
	var b Behavior
	return follow(&b, list), nil
}

// readObserved reads and checks a file of observations.
func readObserved(file string) ([]Observation, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the caller's own file is what it is for
	if err != nil {
		return nil, err
	}
	var content struct {
		Format       int           `json:"format"`
		Observations []Observation `json:"observations"`
	}
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("%s is no file of observations: %w", file, err)
	}
	if content.Format != 1 {
		return nil, fmt.Errorf("%s is no file of observations of format 1: its format is %d",
			file, content.Format)
	}
	if err := checkObserved(content.Observations); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return content.Observations, nil
}

func checkObserved(list []Observation) error {
	if len(list) == 0 {
		return errors.New("there are no observations in it")
	}
	seen := make(map[string]bool, len(list))
	for _, o := range list {
		switch {
		case o.Key == "" || o.Answer == "":
			return errors.New("an observation lacks its key or its answer")
		case seen[o.Key]:
			return fmt.Errorf("there are two observations of %q", o.Key)
		}
		seen[o.Key] = true
	}
	return nil
}

// follow sets what the observations tell of, and returns those that it cannot follow.
func follow(b *Behavior, list []Observation) []Observation {
	followLimits(b, list)
	var differences []Observation
	for _, o := range list {
		if o.Answer != unseen && !followOne(b, o.Key, o.Answer) {
			differences = append(differences, o)
		}
	}
	return differences
}

// followOne follows one observation, and reports whether the server then gives that answer.
func followOne(b *Behavior, key, answer string) bool {
	switch key {
	case "order":
		return pick(&b.Order, answer, map[string]Order{
			"ascending": OrderAscending, "descending": OrderDescending, "changing": OrderShuffled,
		})
	case "default-status":
		return pick(&b.DefaultStatus, answer, map[string]petstore.PetStatus{
			"none": "", "available": "available", "pending": "pending", "sold": "sold",
		})
	case "limit-zero", "limit-above", "limit-word":
		return answer == b.limitAnswer(key)
	case "unknown-status":
		b.InvalidStatus = treatment(answer)
		return answer == refused400 || answer == "ignored"
	case "window":
		return pick(&b.Window, answer, map[string]Window{
			"fixed": WindowFixed, "aligned": WindowAligned, "sliding": WindowSliding,
		})
	case "retry-after":
		return pick(&b.RetryAfter, answer, map[string]RetryAfterForm{
			"seconds": RetryAfterSeconds, "date": RetryAfterDate, "absent": RetryAfterAbsent,
		})
	case "body-429":
		return pick(&b.LimitBody, answer, map[string]BodyForm{
			"Error": BodyError, "empty": BodyEmpty, "HTML": BodyHTML,
		})
	case "removal":
		b.Removal = answer != "accepted"
		return !b.Removal || answer == "404 Error"
	case "deprecation-headers":
		b.DeprecationHeaders = answer != "none"
		return !b.DeprecationHeaders || answer == "Deprecation, Link, Sunset"
	}
	return fixedAnswers()[key] == answer
}

// pick sets a field to what an answer stands for.
func pick[T any](field *T, answer string, words map[string]T) bool {
	value, ok := words[answer]
	if ok {
		*field = value
	}
	return ok
}

// refused400 is the answer of a server that refuses a request as invalid.
const refused400 = "400 Error"

// followLimits sets InvalidLimit, of which three observations tell. The first that is plain counts;
// a limit of 0 shows best how one out of range is treated.
func followLimits(b *Behavior, list []Observation) {
	answers := make(map[string]string, len(list))
	for _, o := range list {
		answers[o.Key] = o.Answer
	}
	for _, key := range []string{"limit-zero", "limit-above", "limit-word"} {
		if answer := answers[key]; answer != "" && answer != unseen {
			b.InvalidLimit = treatment(answer)
			return
		}
	}
}

// treatment returns how an invalid parameter was treated: what is neither refused nor clamped was
// ignored in some way.
func treatment(answer string) InvalidParam {
	switch {
	case strings.HasPrefix(answer, "4"):
		return InvalidReject
	case answer == "clamped":
		return InvalidClamp
	}
	return InvalidIgnore
}

// limitAnswer is what a server of this behaviour does with an invalid limit. What is no number has
// no nearest valid one.
func (b Behavior) limitAnswer(key string) string {
	switch {
	case b.InvalidLimit == InvalidReject:
		return refused400
	case b.InvalidLimit == InvalidClamp && key != "limit-word":
		return "clamped"
	}
	return "ignored"
}

// fixedAnswers is what every server does, whatever its behaviour, by the keys of observations.
func fixedAnswers() map[string]string {
	return map[string]string{
		"other-path":         "404 Error",
		"other-method":       "405 Error",
		"other-method-allow": "GET, POST",
		"empty-list":         "[]",
		"unknown-field":      "accepted",
		"duplicate-field":    refused400,
		"trailing-data":      refused400,
		"null-category":      refused400,
		"null-status":        "accepted",
		"fraction-category":  refused400,
		"special-name":       "kept",
		"empty-name":         refused400,
		"long-name":          "accepted",
		"media-type-missing": refused400,
		"media-type-other":   refused400,
		"limit-twice":        refused400,
		"unknown-parameter":  "accepted",
		"petid-word":         "404 Error",
		"petid-large":        "404 Error",
		"scheme-case":        "accepted",
		"challenge":          "Bearer",
		"code-400":           CodeInvalidRequest,
		"code-401":           CodeUnauthorized,
		"code-404":           CodeNotFound,
		"code-429":           CodeRateLimited,
		"limit-on-401":       "60",
		"counts-400":         "counted",
		"counts-404":         "counted",
	}
}
