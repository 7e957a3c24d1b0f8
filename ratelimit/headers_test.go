package ratelimit

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func read(h http.Header, received time.Time) Outcome {
	return OutcomeOf(&http.Response{Header: h}, received, received)
}

func TestWindow(t *testing.T) {
	reset := func(sec int64) time.Time { return time.Unix(sec, 0).UTC() }
	for text, want := range map[[3]string]Window{
		{"60", "0", "1795000000"}:                    {Limit: 60, Reset: reset(1795000000)},
		{"0", "007", "0"}:                            {Remaining: 7, Reset: reset(0)},
		{"2147483647", "2147483647", "253402300799"}: {Limit: 1<<31 - 1, Remaining: 1<<31 - 1, Reset: reset(maxUnix)},
		{"2147483648", "1", "1"}:                     {},
		{"1", "2147483648", "1"}:                     {},
		{"1", "1", "253402300800"}:                   {},
	} {
		h := http.Header{}
		for i, documented := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
			h.Set(documented, text[i])
		}
		assert.Equal(t, want, read(h, time.Time{}).Window, text)
	}
	for _, name := range []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"} {
		for _, bad := range [][]string{nil, {"1", "2"}, {""}, {"-1"}, {"+1"}, {" 1"}, {"1.0"}, {"1e3"}, {"0x1"}, {"٣"}} {
			h := http.Header{"X-Ratelimit-Limit": {"60"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"1795000000"}}
			h[name] = bad
			assert.Zero(t, read(h, time.Time{}).Window, "%s: %q", name, bad)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	const year = 366 * 24 * time.Hour
	date := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	received := date.Add(-7 * time.Minute) // by the local clock, which is wrong
	for value, want := range map[string]time.Duration{
		"120":                              2 * time.Minute,
		"0.25":                             250 * time.Millisecond,
		"0.00000000000001":                 1, // rounded up: never less than was asked for
		"31622400":                         year,
		"31622401":                         0,
		"Sat, 21 Nov 2026 12:01:30 GMT":    90 * time.Second,
		"Saturday, 21-Nov-26 12:01:30 GMT": 90 * time.Second,
		"Sat Nov 21 12:01:30 2026":         90 * time.Second,
		"Mon, 22 Nov 2027 12:00:00 GMT":    year,
		"Mon, 22 Nov 2027 12:00:01 GMT":    0,
		"Sat, 21 Nov 2026 11:59:59 GMT":    0,
		"1795262489.5":                     90 * time.Second,
		"99999999999999999999999999":       0,
		"":                                 0, "0": 0, "-1": 0, "+5": 0, "NaN": 0, "Inf": 0, "1e9": 0, "0x10": 0,
		"soon": 0, "1.2.3": 0, ".": 0, "5s": 0, "1_0": 0,
	} {
		h := http.Header{"Date": {date.Format(http.TimeFormat)}, "Retry-After": {value}}
		assert.Equal(t, want, read(h, received).RetryAfter, value)
		h["Retry-After"] = []string{"3", value, "3"}
		assert.Equal(t, max(want, 3*time.Second), read(h, received).RetryAfter, "the longest of %s", value)
	}
	h := http.Header{"Retry-After": {"Sat, 21 Nov 2026 12:01:30 GMT"}}
	assert.Equal(t, 510*time.Second, read(h, received).RetryAfter, "without a Date")
}
