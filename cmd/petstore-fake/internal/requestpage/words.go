package requestpage

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

var unit = regexp.MustCompile(`h|ms|µs|s|m`)

// words writes a duration with its units as people do.
func words(d time.Duration) string {
	precision := time.Second
	for _, finer := range []time.Duration{1e8, 1e6, 1e5, 1e3} { // nanoseconds
		if d.Abs() < finer*999 { // to three digits
			precision = finer
		}
	}
	text := strings.TrimSpace(unit.ReplaceAllString(d.Round(precision).String(), " $0 "))
	text = strings.ReplaceAll(text, " m ", " min ")
	return strings.TrimSuffix(strings.TrimSuffix(text, " 0 s"), " 0 min")
}

var (
	isoTime    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	goDuration = regexp.MustCompile(` (\d[\d.]*(h|m|s|ms|µs))+\b`)
)

// plain writes the durations of a text in words, and its times as a clock shows them.
func plain(text string, today time.Time) string {
	text = goDuration.ReplaceAllStringFunc(text, func(found string) string {
		d, err := time.ParseDuration(found[1:])
		if err != nil {
			return found
		}
		return " " + words(d)
	})
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

// shorten cuts a long text.
func shorten(s string) string { return spec.Shorten(s, maxText) }
