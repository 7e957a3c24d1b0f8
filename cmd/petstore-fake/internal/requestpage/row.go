package requestpage

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"

	"github.com/petstore/petstore-go/fake"
)

// The bounds of what a page holds: rows, and bytes of a text in one of them.
const (
	maxRows = 200
	maxText = 512
)

// row is a request in the words of the page.
type row struct {
	Seq       int
	Link      string // to the page with the request open on it
	Day       string
	Clock     string
	Since     string // the last request of the same key
	Operation string
	Method    string
	Path      string
	Sender    string
	Status    string
	Kind      string // of the status
	Took      string
	Call      int // the first of the tries of its call, 0 for the only one
	Try       int // of Tries
	Tries     int
	Fault     string
	Rules     []rule
	Sections  string // of the service document, that Hint is about
	Hint      string
}

// rule is a violation in the fewest words.
type rule struct{ Text, Detail string }

func (s senders) row(e journal.Entry, link string) row {
	id, key := s.of(e.Request)
	r := row{
		Seq: e.Seq, Link: link, Day: e.Time.UTC().Format(time.DateOnly), Clock: e.Time.UTC().Format("15:04:05.000"),
		Operation: e.Operation, Method: shorten(e.Method), Path: shorten(e.Path), Sender: keyText(id, key),
		Try: e.Try, Tries: len(e.Tries), Rules: rules(e.Violations),
	}
	r.Status, r.Kind = statusOf(e.Request)
	if r.Tries > 0 {
		r.Call = e.Tries[0]
	}
	if e.Since >= 0 {
		r.Since = "+" + words(e.Since)
	}
	if !journal.Pending(e.Request) {
		r.Took = words(e.Duration)
	}
	if e.FaultEffect != "" {
		r.Fault = shorten(plain(e.FaultEffect, e.Time))
	}
	if !strings.HasPrefix(e.Hint, "injected ") { // which Fault says in more words
		r.Hint, r.Sections = splitHint(shorten(plain(e.Hint, e.Time)))
	}
	return r
}

// ruleTexts are the rules in the fewest words.
var ruleTexts = map[fake.Rule]string{
	fake.RuleEarlyRetry: "early", fake.RuleBanProvoked: "provoked a ban", fake.RuleRepeatedCreate: "repeated create",
	fake.RuleUnknownParameter: "unknown parameter", fake.RuleUnknownField: "unknown field",
	fake.RuleZeroCategory: "category 0", fake.RuleDeprecated: "deprecated", fake.RuleKeyExposed: "key in the URL",
}

var earlyBy = regexp.MustCompile(`came back (\S+) before`)

// rules returns violations as the list shows them, each text once.
func rules(violations []fake.Violation) (list []rule) {
	for _, v := range violations {
		text := ruleTexts[v.Rule]
		if found := earlyBy.FindStringSubmatch(v.Detail); v.Rule == fake.RuleEarlyRetry && found != nil {
			text = plain("early by "+found[1], time.Time{})
		}
		detail := fmt.Sprintf("%s (section %s)", shorten(plain(v.Detail, time.Time{})), v.Section)
		if i := slices.IndexFunc(list, func(r rule) bool { return r.Text == text }); i >= 0 {
			list[i].Detail += "; " + detail
			continue
		}
		list = append(list, rule{text, detail})
	}
	return list
}

// keyText adds the id to a masked key, since keys may begin alike.
func keyText(id int, masked string) string {
	switch {
	case masked == journal.KeyNone:
		return "no key"
	case id == 0:
		return "unknown key"
	case masked == fake.DefaultAPIKey:
		return masked
	}
	return fmt.Sprintf("%s #%d", masked, id)
}

var hintSections = regexp.MustCompile(`(?s)^(.*) \((sections? [\d., and]+)\)(.*)$`)

// splitHint takes the sections of the service document out of a hint.
func splitHint(text string) (hint, sections string) {
	parts := hintSections.FindStringSubmatch(text)
	if parts == nil {
		return text, ""
	}
	return parts[1] + parts[3], parts[2]
}

// statusOf returns a status as the list shows it, and the class that gives it its colour.
func statusOf(r fake.Request) (text, kind string) {
	switch {
	case journal.Pending(r):
		return "pending", "pending"
	case r.StatusCode == 0:
		text = "none"
	default:
		text = strconv.Itoa(r.StatusCode)
	}
	return text, kinds[kindOf(r.StatusCode)].Class
}

// kinds are the kinds of responses, in the order in which the chart stacks them.
var kinds = [...]struct{ Class, Text string }{
	{"fine", "2xx"}, {"refused", "4xx"}, {"limited", "429"}, {"failed", "5xx"}, {"lost", "none"},
}

// kindOf returns the index of a status in kinds.
func kindOf(status int) int {
	switch {
	case status == 0:
		return 4
	case status == http.StatusTooManyRequests:
		return 2
	case status >= 500:
		return 3
	case status >= 400:
		return 1
	}
	return 0
}
