package requestpage

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/safetext"
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
	r.Fault = shorten(e.FaultEffect)
	if !strings.HasPrefix(e.Hint, "injected ") { // which Fault says in more words
		r.Hint = shorten(e.Hint)
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

// gravest are the rules that a row shows first, the gravest last.
var gravest = []fake.Rule{fake.RuleEarlyRetry, fake.RuleRepeatedCreate, fake.RuleKeyExposed, fake.RuleBanProvoked}

var earlyBy = regexp.MustCompile(`came back (\S+) before`)

// rules returns violations as the list shows them, each text once, the gravest first.
func rules(violations []fake.Violation) (list []rule) {
	all := slices.Clone(violations)
	slices.SortStableFunc(all, func(a, b fake.Violation) int {
		return cmp.Or(slices.Index(gravest, b.Rule)-slices.Index(gravest, a.Rule), cmp.Compare(a.Rule, b.Rule))
	})
	for _, v := range all {
		text := strings.ReplaceAll(strings.TrimSuffix(string(v.Rule), "-operation"), "-", " ")
		detail := shorten(v.Detail) + " (section " + v.Section + ")"
		if found := earlyBy.FindStringSubmatch(detail); found != nil {
			early, _ := time.ParseDuration(found[1]) // as package fake writes it
			text = "early by " + words(early)
			detail = strings.Replace(detail, found[1], words(early), 1)
		}
		if last := len(list) - 1; last >= 0 && list[last].Text == text {
			list[last].Detail += "; " + detail
		} else {
			list = append(list, rule{text, detail})
		}
	}
	return list
}

// shorten cuts a long text.
func shorten(s string) string { return safetext.Shorten(s, maxText) }

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

// kinds are the kinds of responses, in the order in which the chart stacks them. Find finds a kind
// by its word.
var kinds = [...]kind{
	{"fine", "2xx", "2xx", 0}, {"refused", "4xx", "4xx-429", 0}, {"limited", "429", "429", 0},
	{"failed", "5xx", "5xx", 0}, {"lost", "none", "0", 0},
}

type kind struct {
	Class, Text, Find string
	N                 int // of the requests that fit
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

// words writes a duration to three digits: 59.6s, 1m6s, 10m.
func words(d time.Duration) string {
	precision := time.Second
	for _, finer := range []time.Duration{1e8, 1e6, 1e5, 1e3} { // nanoseconds
		if d.Abs() < finer*999 {
			precision = finer
		}
	}
	return spec.FormatDuration(d.Round(precision))
}

// count writes a number with a comma between its thousands.
func count(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// many writes a number with its noun.
func many(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return count(n) + " " + noun
}
