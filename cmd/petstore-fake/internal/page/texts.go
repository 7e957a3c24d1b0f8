package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// layOut writes a body for reading: a JSON text over several lines, its numbers as they are.
func layOut(body []byte) string {
	var laidOut bytes.Buffer
	if json.Indent(&laidOut, body, "", "  ") == nil {
		body = laidOut.Bytes()
	}
	return strings.ToValidUTF8(string(body), "�")
}

// when writes a time, with its day unless that is today.
func when(t, now time.Time) string {
	if t, now = t.UTC(), now.UTC(); t.Truncate(24 * time.Hour).Equal(now.Truncate(24 * time.Hour)) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// words writes a duration to three digits: 59.6s, 10m0s. What is below a millisecond is noise.
func words(d time.Duration) string {
	if d.Abs() < time.Millisecond {
		return "<1ms"
	}
	digit := 10 * time.Microsecond
	for digit < time.Second && d.Abs() >= 1000*digit {
		digit *= 10
	}
	return d.Round(digit).String()
}

// many writes a number with its noun.
func many(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}
