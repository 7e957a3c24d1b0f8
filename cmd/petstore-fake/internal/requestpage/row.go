package requestpage

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/safetext"
)

// The bounds of what a page holds: rows, bytes of a text in one of them, and of a body.
const (
	maxRows  = 100
	maxText  = 512
	maxStart = 60
)

// row is a request as the list shows it.
type row struct{ *journal.Entry }

// Day is the day of the request.
func (r row) Day() string { return r.Time.UTC().Format(time.DateOnly) }

// Target is the path without the prefix of the version, and the start of the body of a create.
func (r row) Target() string {
	body := strings.ToValidUTF8(string(r.Body[:min(len(r.Body), 2*maxStart)]), "")
	start := safetext.Shorten(strings.Join(strings.Fields(body), " "), maxStart)
	return strings.TrimSpace(shorten(strings.TrimPrefix(r.Path, "/v1")) + " " + start)
}

// Status is the status in words.
func (r row) Status() string {
	switch {
	case r.Pending():
		return "pending"
	case r.StatusCode == 0:
		return "no response"
	}
	return strconv.Itoa(r.StatusCode)
}

// Kind is the class that gives the status its colour.
func (r row) Kind() string {
	if r.Pending() {
		return "pending"
	}
	return kinds[kindOf(r.StatusCode)].Class
}

// Why says what a fault did, and why the service refused the request.
func (r row) Why() string {
	why := shorten(r.FaultEffect)
	if !strings.HasPrefix(r.Hint, "injected ") && r.Hint != "" { // the effect says the same in more words
		why = strings.TrimPrefix(why+"; "+r.plain(r.Hint), "; ")
	}
	return why
}

var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// plain returns a text of the fake's with times as the page writes them.
func (r row) plain(text string) string {
	return timestamp.ReplaceAllStringFunc(shorten(text), func(found string) string {
		t, _ := time.Parse(time.RFC3339, found) // as package fake writes it
		return when(t, r.Time)
	})
}

// when writes a time, with its day unless that is today.
func when(t, now time.Time) string {
	if t, now = t.UTC(), now.UTC(); t.Truncate(24 * time.Hour).Equal(now.Truncate(24 * time.Hour)) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// brokenRule is a rule that a request has broken, with each time that it did.
type brokenRule struct {
	fake.Rule
	Detail string
}

// Rules returns the rules that the request has broken.
func (r row) Rules() (list []brokenRule) {
	for _, v := range r.Violations {
		detail := r.plain(v.Detail) + " (section " + v.Section + ")"
		if last := len(list) - 1; last >= 0 && list[last].Rule == v.Rule { // such as a second unknown field
			list[last].Detail += "; " + detail
		} else {
			list = append(list, brokenRule{v.Rule, detail})
		}
	}
	return list
}

func shorten(s string) string { return safetext.Shorten(s, maxText) }

// kind is a kind of responses. Its words are the filter that finds it.
type kind struct {
	Class, Text, Find string
	N                 int // how many of the fitting requests are of this kind
	To                string
	Pressed           bool
}

// kinds are the kinds of responses, from the best to the worst.
var kinds = [...]kind{
	{Class: "fine", Text: "2xx", Find: "status:2xx"}, {Class: "refused", Text: "4xx", Find: "status:4xx -status:429"},
	{Class: "limited", Text: "429", Find: "status:429"}, {Class: "failed", Text: "5xx", Find: "status:5xx"},
	{Class: "lost", Text: "no response", Find: "status:none"},
}

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

// words writes a duration to three digits: 59.6s, 1m6s, 10m. What is below a millisecond is noise.
func words(d time.Duration) string {
	if d.Abs() < time.Millisecond {
		return "<1ms"
	}
	precision := time.Second
	for _, finer := range []time.Duration{1e8, 1e6, 1e5} { // nanoseconds
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
