package requestpage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 37_400: "37µs", 999_600: "1ms", 1_250_000: "1.3ms", 9_960_000: "10ms", 998_400_000: "998ms",
		999_600_000: "1s", 58_949 * time.Millisecond: "58.9s", 61_234 * time.Millisecond: "1m1.2s",
		10 * time.Minute: "10m", 90*time.Minute + 1100*time.Millisecond: "1h30m1s", 72 * time.Hour: "72h",
	} {
		assert.Equal(t, want, words(d))
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	today := time.Date(2030, 12, 4, 23, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"the next one at 2030-12-04T23:59:00Z":         "the next one at 23:59:00",
		"2030-12-05T00:00:00Z, 2030-12-04T01:02:03.5Z": "5\u00a0Dec\u00a02030\u00a000:00:00, 01:02:03",
		"2030-13-05T00:00:00Z":                         "2030-13-05T00:00:00Z",
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
