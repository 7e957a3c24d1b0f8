package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Finding is what a service does where the service document is silent. Package conformance
// observes a service and writes a file; [WithObserved] reads it.
type Finding struct {
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
// observations. [ObservedDifferences] returns the observations that the server does not reproduce.
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
func ObservedDifferences(file string) ([]Finding, error) {
	list, err := readObserved(file)
	if err != nil {
		return nil, fmt.Errorf("fake: ObservedDifferences: %w", err)
	}
	var b Behavior
	return follow(&b, list), nil
}

func readObserved(file string) ([]Finding, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the caller names it
	if err != nil {
		return nil, err
	}
	var content struct {
		Format       int       `json:"format"`
		Observations []Finding `json:"observations"`
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

func checkObserved(list []Finding) error {
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

// follow changes b to what was observed, and returns the observations that it cannot reproduce.
func follow(b *Behavior, list []Finding) []Finding {
	seen := make(map[string]string, len(list))
	for _, o := range list {
		if o.Answer != unseen {
			seen[o.Key] = o.Answer
		}
	}
	answers, decided := fixedAnswers(), make(map[string]bool)
	for _, q := range openQuestions() {
		a, _ := axisOf(b, q.axis)
		if q.answers == nil {
			q.answers = a.choices
		}
		if choice := q.choice(seen[q.key]); choice >= 0 && !decided[q.axis] {
			a.set(choice)
			decided[q.axis] = true
		}
		answers[q.key] = q.answers[a.get()]
	}
	return slices.DeleteFunc(slices.Clone(list), func(o Finding) bool {
		return o.Answer == unseen || o.Answer == answers[o.Key]
	})
}

// openQuestion is a question whose answer depends on the Behavior.
type openQuestion struct {
	key     string
	axis    string   // the field of Behavior
	answers []string // by the choices of the axis, nil if they have the same words
	other   int      // the choice that comes closest to any other answer, -1 for none
}

// openQuestions returns the questions about each axis in the order of their weight: the first that
// was answered decides. A limit of 0 shows best how a value out of range is treated.
func openQuestions() []openQuestion {
	limit := []string{refused400, "ignored", "clamped"}
	noNumber := []string{refused400, "ignored", "ignored"} // it has no nearest valid value
	return []openQuestion{
		{"order", "order", []string{"ascending", "descending", "changing"}, -1},
		{"window", "window", nil, -1},
		{"retry-after", "retry-after", nil, -1},
		{"default-status", "default-status", nil, -1},
		{"body-429", "limit-body", []string{"Error", "empty", "HTML"}, -1},
		{"removal", "removal", []string{"accepted", "404 Error"}, 1},
		{"deprecation-headers", "deprecation-headers", []string{"none", "Deprecation, Link, Sunset"}, 1},
		{"limit-zero", "invalid-limit", limit, 1},
		{"limit-above", "invalid-limit", limit, 1},
		{"limit-word", "invalid-limit", noNumber, 1},
		{"unknown-status", "invalid-status", noNumber, 1},
	}
}

// choice returns the choice that comes closest to an answer, -1 if there is none. Every status of
// 400 to 499 is a refusal.
func (q openQuestion) choice(answer string) int {
	choice := slices.Index(q.answers, answer)
	switch {
	case answer == "" || choice >= 0:
		return choice
	case q.answers[0] == refused400 && strings.HasPrefix(answer, "4"):
		return 0
	}
	return q.other
}

// refused400 is the answer of a server that refuses a request as invalid.
const refused400 = "400 Error"

// fixedAnswers returns the answers, by key, that do not depend on the Behavior.
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
		"code-400":           codeOf(400),
		"code-401":           codeOf(401),
		"code-404":           codeOf(404),
		"code-429":           codeOf(429),
		"limit-on-401":       "60",
		"counts-400":         "counted",
		"counts-404":         "counted",
	}
}
