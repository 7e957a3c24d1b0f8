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

// row is a request as the page lists it. All of it is in the words of the page, so that the page's
// template and its script write the same.
type row struct {
	Seq       int    `json:"seq"`
	Day       string `json:"day"`
	Clock     string `json:"clock"`
	Since     string `json:"since,omitempty"` // the last request of the same key
	Operation string `json:"operation"`
	Method    string `json:"method"`
	Path      string `json:"path"`
	Sender    string `json:"sender"`
	Status    string `json:"status"`
	Kind      string `json:"kind"` // of the status
	Pending   bool   `json:"pending,omitempty"`
	Took      string `json:"took,omitempty"`
	Try       int    `json:"try,omitempty"` // of Tries
	Tries     int    `json:"tries,omitempty"`
	Fault     string `json:"fault,omitempty"`
	Rules     []rule `json:"rules,omitempty"`
	Sections  string `json:"sections,omitempty"` // of the service document, that Hint is about
	Hint      string `json:"hint,omitempty"`
}

// rule is a violation in the fewest words.
type rule struct {
	Text   string `json:"text"`
	Detail string `json:"detail"`
}

func (s senders) row(e journal.Entry) row {
	id, key := s.of(e.Request)
	r := row{
		Seq: e.Seq, Day: e.Time.UTC().Format(time.DateOnly), Clock: clockTime(e.Time),
		Operation: e.Operation, Method: Shorten(e.Method), Path: Shorten(e.Path), Sender: KeyText(id, key),
		Status: statusText(e.Request), Kind: statusKind(e.Request), Pending: journal.Pending(e.Request),
		Try: e.Try, Tries: len(e.Tries), Rules: rules(e.Violations),
	}
	if e.Since >= 0 {
		r.Since = "+" + tookText(e.Since)
	}
	if !r.Pending {
		r.Took = tookText(e.Duration)
	}
	if e.Fault {
		r.Fault = Shorten(e.FaultEffect)
	}
	if !strings.HasPrefix(e.Hint, "injected ") { // which Fault says in more words
		r.Hint, r.Sections = splitHint(Shorten(plainTimes(e.Hint, e.Time)))
	}
	return r
}

// ruleTexts are the rules in the fewest words.
var ruleTexts = map[string]string{
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
			if d, err := time.ParseDuration(found[1]); err == nil {
				text = "early by " + tookText(d)
			}
		}
		detail := fmt.Sprintf("%s (section %s)", Shorten(v.Detail), v.Section)
		if i := slices.IndexFunc(list, func(r rule) bool { return r.Text == text }); i >= 0 {
			list[i].Detail += "; " + detail
			continue
		}
		list = append(list, rule{text, detail})
	}
	return list
}

// KeyText adds the id to a masked key, since keys may begin alike.
func KeyText(id int, masked string) string {
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

var isoTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// plainTimes writes the times of a text as a clock shows them, with the day if it is another one.
// No line can break within.
func plainTimes(text string, today time.Time) string {
	return isoTime.ReplaceAllStringFunc(text, func(iso string) string {
		t, err := time.Parse(time.RFC3339, iso)
		if err != nil {
			return iso
		}
		return timeOn(t, today)
	})
}

// timeOn writes a time as a clock shows it on a day, with its own day if that is another one.
func timeOn(t, today time.Time) string {
	t = t.UTC()
	if t.Format(time.DateOnly) == today.UTC().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return strings.ReplaceAll(t.Format("2 Jan 2006 15:04:05"), " ", "\u00a0")
}

// clockTime is a time of a day.
func clockTime(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// tookText is a duration in one unit.
func tookText(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms < 0.9995:
		return fmt.Sprintf("%.0f µs", ms*1000)
	case ms < 9.95:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 99_950:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	return Plain(d.Round(time.Second))
}

// Plain writes a duration as time.Duration does, without the zeros at its end: 10m, not 10m0s.
func Plain(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// statusText returns a status as the list shows it.
func statusText(r fake.Request) string {
	switch {
	case journal.Pending(r):
		return "pending"
	case r.StatusCode == 0:
		return "none"
	}
	return strconv.Itoa(r.StatusCode)
}

// statusKind returns the class that gives a status its colour.
func statusKind(r fake.Request) string {
	if journal.Pending(r) {
		return "pending"
	}
	return kinds[kindOf(r.StatusCode)]
}

// kinds are the kinds of responses, in the order in which the chart stacks them.
var kinds = [...]string{"fine", "refused", "limited", "failed", "lost"}

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

// Shorten cuts a long text, between two characters.
func Shorten(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}
