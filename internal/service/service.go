// Package service reads the rate limit headers for those on the service's side of a request: the
// fake, its program and the conformance tests. The client reads these headers with code of its own.
// If both sides used the same code, a mistake in it would go unnoticed.
package service

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// The headers of every response (section 8.2).
const (
	HeaderLimit     = "X-RateLimit-Limit"
	HeaderRemaining = "X-RateLimit-Remaining"
	HeaderReset     = "X-RateLimit-Reset"
)

// Requests reads X-RateLimit-Limit or X-RateLimit-Remaining.
func Requests(h http.Header, name string) (int, error) {
	n, err := strconv.Atoi(h.Get(name))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a number of requests", h.Get(name))
	}
	return n, nil
}

// Reset reads X-RateLimit-Reset in a response of the given time. It refuses a value that must be in
// another unit, such as the seconds that are left, or milliseconds: no limit of the document lasts
// longer than a day, and a custom one hardly longer than a year.
func Reset(h http.Header, date time.Time) (time.Time, error) {
	const year = 366 * 24 * time.Hour
	value := h.Get(HeaderReset)
	sec, err := strconv.ParseInt(value, 10, 64)
	t := time.Unix(sec, 0)
	if err != nil || t.Sub(date).Abs() > year {
		return t, fmt.Errorf("%q is not a Unix timestamp near %s", value, date.UTC().Format(time.RFC3339))
	}
	return t, nil
}

// RetryAfter returns the time until which a Retry-After header asks its client to wait. The value
// is a date, or a number of seconds from now. The result is the zero time if the value asks for no
// wait.
func RetryAfter(value string, now time.Time) time.Time {
	const longest = 1 << 32 // seconds, within a time.Duration
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return now.Add(time.Duration(min(seconds, longest) * float64(time.Second)))
	}
	if date, err := http.ParseTime(value); err == nil {
		return date
	}
	return time.Time{}
}
