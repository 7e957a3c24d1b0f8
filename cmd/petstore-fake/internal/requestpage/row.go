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
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
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
	Day       string
	Clock     string
	Since     string // the last request of the same key
	Operation string
	Method    string
	Path      string // without the prefix of the version
	Sender    string
	Status    string
	Kind      string // of the status
	Took      string
	Call      int // the first of the tries of its call, 0 for the only one
	Try       int // of Tries
	Tries     int
	Fault     string
	Rules     []rule
	Hint      string

	// What depends on the rows around it: whether the day is another, whether the sentence is not that
	// of the row above, whether a row above or below is of the same call.
	NewDay, Told, Later, Earlier bool
}

// rule is a violation in the fewest words.
type rule struct{ Text, Detail string }

func newRow(e journal.Entry, senders map[int]string) row {
	r := row{
		Seq: e.Seq, Day: e.Time.UTC().Format(time.DateOnly), Clock: e.Time.UTC().Format("15:04:05.000"),
		Operation: e.Operation, Method: shorten(e.Method), Path: shorten(strings.TrimPrefix(e.Path, "/v1")),
		Sender: senders[e.Key], Try: e.Try, Tries: len(e.Tries), Rules: rules(e.Violations),
	}
	if e.Key == 0 {
		r.Sender = strings.Replace(journal.Sender(e.Request), "none", "no", 1) + " key"
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
	r.Fault = shorten(plain(e.FaultEffect, e.Time))
	if !strings.HasPrefix(e.Hint, "injected ") { // which Fault says in more words
		r.Hint = shorten(plain(e.Hint, e.Time))
	}
	return r
}

// arrange sets what depends on the rows around a row, newest first.
func arrange(rows []row) {
	told := make(map[string]bool) // the sentences of a run of refusals
	for i := range rows {
		r := &rows[i]
		sentence := r.Fault + r.Hint
		if sentence == "" {
			clear(told)
		}
		r.Told, told[sentence] = sentence != "" && !told[sentence], true
		if i == 0 {
			continue
		}
		r.NewDay = r.Day != rows[i-1].Day
		r.Later = r.Call != 0 && r.Call == rows[i-1].Call
		rows[i-1].Earlier = r.Later
	}
}

// ruleTexts are the rules in the fewest words, the gravest first.
var ruleTexts = []struct {
	rule fake.Rule
	text string
}{
	{fake.RuleBanProvoked, "provoked a ban"}, {fake.RuleKeyExposed, "key in the URL"},
	{fake.RuleRepeatedCreate, "repeated create"}, {fake.RuleEarlyRetry, "early"},
	{fake.RuleUnknownField, "unknown field"}, {fake.RuleUnknownParameter, "unknown parameter"},
	{fake.RuleZeroCategory, "category 0"}, {fake.RuleDeprecated, "deprecated"},
}

var earlyBy = regexp.MustCompile(`came back (\S+) before`)

// rules returns violations as the list shows them, each text once, the gravest first.
func rules(violations []fake.Violation) (list []rule) {
	for _, known := range ruleTexts {
		for _, v := range violations {
			if v.Rule != known.rule {
				continue
			}
			text, detail := known.text, shorten(v.Detail)
			if found := earlyBy.FindStringSubmatch(v.Detail); v.Rule == fake.RuleEarlyRetry && found != nil {
				early, _ := time.ParseDuration(found[1]) // as package fake writes it
				text = "early by " + words(early)
				detail = strings.Replace(detail, found[1], words(early), 1)
			}
			if section := fmt.Sprintf("(section %s)", v.Section); !strings.Contains(detail, section) {
				detail += " " + section
			}
			if i := slices.IndexFunc(list, func(r rule) bool { return r.Text == text }); i >= 0 {
				list[i].Detail += "; " + detail
				continue
			}
			list = append(list, rule{text, detail})
		}
	}
	return list
}

// shorten cuts a long text.
func shorten(s string) string { return spec.Shorten(s, maxText) }

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

// kinds are the kinds of responses, in the order in which the chart stacks them. Find finds those of
// a kind by its word.
var kinds = [...]struct{ Class, Text, Find string }{
	{"fine", "2xx", "2xx"}, {"refused", "4xx", "4xx-429"}, {"limited", "429", "429"},
	{"failed", "5xx", "5xx"}, {"lost", "none", "0"},
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
