package requestpage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 s", 37_400: "37 µs", 999_600: "1 ms", 1_250_000: "1.3 ms", 9_960_000: "10 ms", 998_400_000: "998 ms",
		999_600_000: "1 s", 58_949 * time.Millisecond: "58.9 s", 61_234 * time.Millisecond: "1 min 1.2 s",
		10 * time.Minute: "10 min", 90*time.Minute + 1100*time.Millisecond: "1 h 30 min 1 s", 72 * time.Hour: "72 h",
	} {
		assert.Equal(t, want, words(d))
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	today := time.Date(2030, 12, 4, 23, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"the next one at 2030-12-04T23:59:00Z":          "the next one at 23:59:00",
		"2030-12-05T00:00:00Z, 2030-12-04T01:02:03.5Z":  "5\u00a0Dec\u00a02030\u00a000:00:00, 01:02:03",
		"2030-13-05T00:00:00Z":                          "2030-13-05T00:00:00Z",
		"came back 1m59.6s before":                      "came back 2 min before",
		"delayed by 20ms":                               "delayed by 20 ms",
		`the status "5m" and the path /10s are as sent`: `the status "5m" and the path /10s are as sent`,
	} {
		assert.Equal(t, want, plain(text, today))
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, count(n))
	}
}
