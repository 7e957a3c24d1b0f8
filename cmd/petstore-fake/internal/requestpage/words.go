package requestpage

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Words writes a duration in one unit, or in hours and minutes.
func Words(d time.Duration) string {
	number := func(v float64, digits int) string {
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', digits, 64), ".0")
	}
	us, seconds := float64(d)/float64(time.Microsecond), d.Seconds()
	switch {
	case us < 999.5:
		return number(us, 0) + " µs"
	case us < 9_950:
		return number(us/1000, 1) + " ms"
	case us < 999_500:
		return number(us/1000, 0) + " ms"
	case seconds < 99.95:
		return number(seconds, 1) + " s"
	}
	var parts []string
	rest := d.Round(time.Second)
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}} {
		if n := rest / unit.size; n > 0 {
			parts = append(parts, fmt.Sprint(int64(n), " ", unit.name))
			rest %= unit.size
		}
	}
	return strings.Join(parts, " ")
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
		return " " + Words(d)
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

// Shorten cuts a long text, between two characters.
func Shorten(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}
