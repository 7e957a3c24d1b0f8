package ratelimit

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxUnix is the last second of the year 9999: RFC 3339 has no form for later times.
const maxUnix = 253402300799

// maxRetryAfter is one year. A longer Retry-After is a mistake, such as milliseconds instead of
// seconds, and would stop a process until its restart; it is ignored.
const maxRetryAfter = 366 * 24 * time.Hour

// parseWindow reads the window from the X-RateLimit headers. It returns the zero Window if one of
// them is missing or malformed, because the others are of no use without it. The names are spelled
// as in an http.Header: with the spelling of the document, a look-up would allocate.
func parseWindow(h http.Header) Window {
	limit, ok1 := parseCount(h["X-Ratelimit-Limit"], math.MaxInt32)
	remaining, ok2 := parseCount(h["X-Ratelimit-Remaining"], math.MaxInt32)
	reset, ok3 := parseCount(h["X-Ratelimit-Reset"], maxUnix)
	if !ok1 || !ok2 || !ok3 {
		return Window{}
	}
	return Window{Limit: int(limit), Remaining: int(remaining), Reset: time.Unix(reset, 0).UTC()}
}

// maxHeader is the length of the longest header that is read, in bytes. A longer one says nothing
// useful, and would only take time.
const maxHeader = 1 << 10

// parseCount parses a header with one value of decimal digits, up to most. Headers of the rate
// limit come from the server, so any text must be expected.
func parseCount(values []string, most int64) (int64, bool) {
	if len(values) != 1 || len(values[0]) > maxHeader {
		return 0, false
	}
	return parseDigits(values[0], most)
}

// parseDigits parses decimal digits, up to most; false for any other text.
func parseDigits(text string, most int64) (n int64, ok bool) {
	for i := range len(text) {
		digit := text[i] - '0'
		if n = 10*n + int64(digit); digit > 9 || n > most {
			return 0, false
		}
	}
	return n, text != ""
}

// parseDateHeader returns the server's clock; zero without a valid Date header.
func parseDateHeader(h http.Header) time.Time {
	values := h["Date"]
	if len(values) == 0 || len(values[0]) > maxHeader {
		return time.Time{}
	}
	if date, ok := parseUsualDate(values[0]); ok {
		return date
	}
	date, _ := http.ParseTime(values[0])
	return date
}

// parseUsualDate parses a date of the form that nearly all servers send: "Sun, 06 Nov 1994 08:49:37
// GMT". For any other text it returns false. http.ParseTime, which takes all forms, would take a
// fifth of the time that a permit costs.
func parseUsualDate(s string) (time.Time, bool) {
	const weekdays, months = "SunMonTueWedThuFriSat", "JanFebMarAprMayJunJulAugSepOctNovDec"
	if len(s) != len(http.TimeFormat) || s[3:5] != ", " || s[25:] != " GMT" ||
		s[7] != ' ' || s[11] != ' ' || s[16] != ' ' || s[19] != ':' || s[22] != ':' {
		return time.Time{}, false
	}
	weekday, month := strings.Index(weekdays, s[:3]), strings.Index(months, s[8:11])
	day, ok1 := parseDigits(s[5:7], 31)
	year, ok2 := parseDigits(s[12:16], 9999)
	hour, ok3 := parseDigits(s[17:19], 23)
	minute, ok4 := parseDigits(s[20:22], 59)
	second, ok5 := parseDigits(s[23:25], 59)
	date := time.Date(int(year), time.Month(month/3+1), int(day), int(hour), int(minute), int(second), 0, time.UTC)
	// Date turns 31 June into 1 July.
	valid := weekday%3 == 0 && month%3 == 0 && date.Day() == int(day)
	return date, valid && ok1 && ok2 && ok3 && ok4 && ok5
}

// parseRetryAfter returns how long to wait after the arrival of the response; 0 without a valid
// Retry-After. Servers differ in its unit and format: it may be seconds, also with a fraction, an
// HTTP-date in one of its three forms, or a Unix timestamp. A time is compared with date, which is
// from the same response, so that it does not matter if the two clocks differ. The longest of
// several values counts.
func parseRetryAfter(h http.Header, date, received time.Time) time.Duration {
	if date.IsZero() {
		date = received
	}
	var longest time.Duration
	left := maxHeader
	for _, value := range h["Retry-After"] {
		if left -= len(value); left < 0 {
			return 0
		}
		longest = max(longest, parseValue(value, date))
	}
	return longest
}

// parseValue parses one header line and returns its longest value. Commas separate values, but
// there is also one in a date, after the day of the week.
func parseValue(value string, date time.Time) (longest time.Duration) {
	var day string
	for part := range strings.SplitSeq(value, ",") {
		part = strings.TrimSpace(part)
		// A date is read with and without the part before the comma, since the format of asctime has no
		// comma.
		for _, d := range []time.Duration{
			parseDate(day+", "+part, date), parseDate(part, date), parseDelay(part, date),
		} {
			if d <= maxRetryAfter {
				longest = max(longest, d)
			}
		}
		day = part
	}
	return longest
}

// parseDate returns how long after date the HTTP-date s is; 0 if s is no HTTP-date.
func parseDate(s string, date time.Time) time.Duration {
	t, err := http.ParseTime(s)
	if err != nil {
		return 0
	}
	return t.Sub(date)
}

// parseDelay parses a number: of seconds up to a year, else a Unix timestamp.
func parseDelay(s string, date time.Time) time.Duration {
	seconds, err := strconv.ParseFloat(s, 64)
	switch {
	// ParseFloat also takes a sign, an exponent and NaN, which are no delays.
	case err != nil || strings.Trim(s, "0123456789.") != "":
		return 0
	case seconds > maxRetryAfter.Seconds():
		return time.Unix(int64(math.Ceil(min(seconds, maxUnix))), 0).Sub(date)
	}
	return time.Duration(math.Ceil(seconds * float64(time.Second)))
}
