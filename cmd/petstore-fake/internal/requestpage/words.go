package requestpage

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

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

var isoTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// plain writes the times of a text as a clock shows them.
func plain(text string, today time.Time) string {
	return isoTime.ReplaceAllStringFunc(text, func(found string) string {
		t, err := time.Parse(time.RFC3339, found)
		if err != nil {
			return found
		}
		return timeOn(t, today)
	})
}

// timeOn writes a time as a clock shows it on a day, with its own day if that is another one. No
// line can break within.
func timeOn(t, today time.Time) string {
	t = t.UTC()
	if t.Format(time.DateOnly) == today.UTC().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return strings.ReplaceAll(t.Format("2 Jan 2006 15:04:05"), " ", "\u00a0")
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
