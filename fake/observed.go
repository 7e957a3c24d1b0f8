package fake

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Observation is what a service does where the service document is silent. Package conformance
// observes a service and writes a file; [WithObserved] reads it.
type Observation struct {
	Key      string `json:"key"`      // names the question
	Section  string `json:"section"`  // of the service document
	Question string `json:"question"` // in words
	Answer   string `json:"answer"`   // "not seen" if the service did not show one
}

// unseen is the answer to a question that a service did not show an answer to.
const unseen = "not seen"

// WithObserved makes the server behave like a service that was observed. It reads a file of
// observations and sets the [Behavior] that reproduces them; what was not seen stays as it is, so
// that [WithBehavior] may come before it. It panics if the file cannot be read or holds no
// observations. [ObservedDifferences] returns what the server does in another way all the same.
func WithObserved(file string) Option {
	list, err := readObserved(file)
	if err != nil {
		panic("fake: WithObserved: " + err.Error())
	}
	return func(c *config) { follow(&c.behavior, list) }
}

// ObservedDifferences returns the observations in a file that a server made [WithObserved] of that
// file does not reproduce, because there is no [Behavior] for them: a test that depends on one of
// these proves nothing about the observed service.
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

// BehaviorOf returns the [Behavior] that reproduces observations best, and those observations that
// a server of that behaviour does not reproduce.
func BehaviorOf(list []Observation) (b Behavior, differences []Observation) {
	differences = follow(&b, list)
	return b, differences
}

// follow changes b to what was observed, and returns the observations that it cannot reproduce.
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

// followOne follows one observation, and reports whether the server then does the same.
func followOne(b *Behavior, key, answer string) bool {
	switch key {
	case "limit-zero", "limit-above", "limit-word":
		return answer == b.limitAnswer(key)
	case "unknown-status":
		b.InvalidStatus = treatment(answer)
		return answer == refused400 || answer == "ignored"
	}
	o, ok := observable()[key]
	if !ok {
		return fixedAnswers()[key] == answer
	}
	choice, ok := o.choices[answer]
	if choice = cmp.Or(choice, o.otherwise); choice != "" {
		_ = choose(b, o.axis, choice) // a test chooses all of them
	}
	return ok
}

// observed is how the answers to a question become a choice of a Behavior.
type observed struct {
	axis      string
	choices   map[string]string // by answer
	otherwise string            // the choice that comes closest to any other answer, empty for none
}

// observable returns the questions whose answers a Behavior can reproduce, by their keys.
func observable() map[string]observed {
	same := func(axis string) observed {
		choices := make(map[string]string)
		for _, choice := range axisOf(axis).choices {
			choices[choice] = choice
		}
		return observed{axis, choices, ""}
	}
	changing := same("order")
	changing.choices["changing"] = "shuffled"
	delete(changing.choices, "shuffled")
	return map[string]observed{
		"order": changing, "window": same("window"), "retry-after": same("retry-after"),
		"default-status": same("default-status"),
		"body-429": {
			"limit-body", map[string]string{"Error": "error", "empty": "empty", "HTML": "html"}, "",
		},
		"removal": {"removal", map[string]string{"accepted": "off", "404 Error": "on"}, "on"},
		"deprecation-headers": {
			"deprecation-headers", map[string]string{"none": "off", "Deprecation, Link, Sunset": "on"}, "on",
		},
	}
}

// refused400 is the answer of a server that refuses a request as invalid.
const refused400 = "400 Error"

// followLimits sets InvalidLimit, which three observations are about. The first that was seen
// counts: a limit of 0 shows best how a value out of range is treated.
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
