package petstore

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// RateLimit is the caller's quota by the X-RateLimit headers of one response (section 8.2).
//
// The zero RateLimit means that nothing is known about the quota, because a header was missing or
// malformed. If the quota is used up, Limit is positive and Remaining is 0.
type RateLimit struct {
	// Limit is the number of requests that the current window allows.
	Limit int
	// Remaining is the number of requests left in the current window.
	Remaining int
	// Reset is the end of the window by the service's clock, in whole seconds.
	Reset time.Time
}

// IsZero reports whether nothing is known, because a header was missing or malformed.
func (r RateLimit) IsZero() bool { return r == RateLimit{} }

// Limiter admits the requests of one API key. A [Client] calls Acquire before each attempt,
// including retries, and reports the outcome of each attempt to the [Permit]. Implementations must
// be safe for concurrent use. [Ticket], [StartWait] and [CallFromContext] help to write one.
type Limiter interface {
	// Acquire blocks until one request may be sent. If that would take longer than maxWait or would
	// exceed the deadline of ctx, it returns a *RateLimitError immediately. With an error it
	// returns no Permit.
	Acquire(ctx context.Context, maxWait time.Duration) (Permit, error)
	// RateLimit returns the most recent rate limit known for the key; the zero RateLimit before the
	// first response.
	RateLimit() RateLimit
}

// Reopener is a [Limiter] that can admit a request although the key is closed; [Client.Reopen] uses
// it. A Limiter around another one should have a method Unwrap() Limiter that returns that one:
// Client.Reopen then finds its Reopen.
type Reopener interface {
	// Reopen admits the next request although the key is closed; its response decides whether the
	// key stays closed. keyID is a [Call].KeyID; empty means all keys. Reopen does not block and
	// sends nothing by itself. It has no effect on an open key.
	//
	// A program may call Reopen on each refusal. If the service rejects the admitted request, the
	// next Reopen takes effect one minute after that, the one after it 2 minutes later, then 4, 8
	// and 16, until a request succeeds: each such request may prolong a ban (section 8.3).
	Reopen(keyID string)
}

// Permit allows one request to be sent. The client calls Release exactly once for each Permit.
type Permit interface {
	// Release ends the permit and reports the outcome of the request. With the zero Observation the
	// permit was not used, and the limiter is as if it had not given it.
	Release(Observation)
}

// Observation is the outcome of a request that a [Permit] allowed. The zero Observation means that
// the permit was not used. If Sent is zero, nothing was sent, so that another request may use the
// permit's place in the budget.
type Observation struct {
	// Sent is the time at which the request was passed to the transport, by the local clock; zero
	// if nothing was sent.
	Sent time.Time
	// Received is the time at which the response's header arrived, by the local clock; zero without
	// a response. A request without a response counts as spent. If Sent is zero and Received is
	// not, the request could not be sent, as after a refused connection, and Received is the time
	// at which that was known.
	Received time.Time
	// StatusCode is the status of the response; 0 without a response.
	StatusCode int
	// RateLimit is the rate limit from the response's headers; zero if one is missing or malformed.
	RateLimit RateLimit
	// RetryAfter is the time from the Retry-After header, counted from Received; 0 without a valid
	// one.
	RetryAfter time.Duration
	// Date is the service's clock from the Date header, in whole seconds; zero without a valid one.
	Date time.Time
	// Abandoned reports whether the caller gave up before the response. The request then counts as
	// spent, but does not show whether the service responds.
	Abandoned bool
}

// The rate limit headers in their canonical spelling: with the spelling of the document, a look-up
// would allocate.
const (
	headerLimit      = "X-Ratelimit-Limit"
	headerRemaining  = "X-Ratelimit-Remaining"
	headerReset      = "X-Ratelimit-Reset"
	headerRetryAfter = "Retry-After"
	headerDate       = "Date"
)

// maxUnix is the last second of the year 9999: RFC 3339 has no form for later times.
const maxUnix = 253402300799

// maxRetryAfter is one year. A longer Retry-After is a mistake, such as milliseconds instead of
// seconds, and would stop a process until its restart; it is ignored.
const maxRetryAfter = 366 * 24 * time.Hour

// parseRateLimit returns the zero RateLimit if one of the headers is missing or malformed, because
// the others are of no use without it.
func parseRateLimit(h http.Header) RateLimit {
	limit, ok1 := parseCount(h[headerLimit], math.MaxInt32)
	remaining, ok2 := parseCount(h[headerRemaining], math.MaxInt32)
	reset, ok3 := parseCount(h[headerReset], maxUnix)
	if !ok1 || !ok2 || !ok3 {
		return RateLimit{}
	}
	return RateLimit{int(limit), int(remaining), time.Unix(reset, 0).UTC()}
}

// parseCount parses a header with one value of decimal digits, up to most.
func parseCount(values []string, most int64) (int64, bool) {
	if len(values) != 1 {
		return 0, false
	}
	return parseDecimal(values[0], most)
}

// maxDecimal is the largest limit of parseDecimal: with it, a further digit cannot overflow.
const maxDecimal = math.MaxInt64/10 - 1

// parseDecimal parses digits and nothing else, up to most, which is at most maxDecimal. A response
// has three such numbers and each Pet two; strconv, which also parses signs and other bases, takes
// three times as long.
func parseDecimal[T ~string | ~[]byte](digits T, most int64) (n int64, ok bool) {
	for i := range len(digits) {
		c := digits[i]
		if c < '0' || c > '9' || n > most {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, n <= most && len(digits) > 0
}

// dateParser parses the Date header. It keeps the last Date, because the responses of one second
// have the same one, and parsing it takes 5 % of the CPU time of a small call: 0.15 of 3 µs.
type dateParser struct{ last atomic.Pointer[parsedDate] }

type parsedDate struct {
	text string
	time time.Time
}

// parse returns the service's clock; zero without a valid Date header.
func (p *dateParser) parse(h http.Header) time.Time {
	values := h[headerDate]
	if len(values) == 0 {
		return time.Time{}
	}
	if last := p.last.Load(); last != nil && last.text == values[0] {
		return last.time
	}
	t, err := http.ParseTime(values[0])
	if err == nil {
		p.last.Store(&parsedDate{strings.Clone(values[0]), t})
	}
	return t
}

// parseRetryAfter returns how long to wait after the arrival of the response; 0 without a valid
// Retry-After. The document does not define its unit and format (section 8.4): it may be seconds,
// also with a fraction, an HTTP-date in one of its three forms, or a Unix timestamp. A time is
// compared with date, which is from the same response, so that it does not matter if the two clocks
// differ. The longest of several values counts.
func parseRetryAfter(h http.Header, date, received time.Time) time.Duration {
	if date.IsZero() {
		date = received
	}
	var longest time.Duration
	for _, value := range h[headerRetryAfter] {
		longest = max(longest, parseRetryAfterValue(value, date))
	}
	return longest
}

// parseRetryAfterValue parses one header line and returns its longest value. Commas separate
// values, but there is also one in a date, after the day of the week.
func parseRetryAfterValue(value string, date time.Time) (longest time.Duration) {
	var day string
	for part := range strings.SplitSeq(value, ",") {
		part = strings.TrimSpace(part)
		if t, err := http.ParseTime(day + ", " + part); err == nil {
			longest = max(longest, believable(t.Sub(date)))
		} else if t, err := http.ParseTime(part); err == nil { // the format of asctime has no comma
			longest = max(longest, believable(t.Sub(date)))
		} else {
			longest = max(longest, parseDelay(part, date))
		}
		day = part
	}
	return longest
}

// minUnix is the smallest number that may be a Unix timestamp, in 1973. Without it, a number of
// seconds would be one for a service whose clock starts at the epoch.
const minUnix = 100_000_000

// parseDelay parses a number. It is a Unix timestamp if that would be within the next year, else a
// number of seconds.
func parseDelay(s string, date time.Time) time.Duration {
	if s == "" || strings.Trim(s, "0123456789.") != "" {
		return 0 // a sign, an exponent, NaN, a hexadecimal number or a word
	}
	seconds, err := strconv.ParseFloat(s, 64)
	if err != nil || seconds > maxUnix {
		return 0
	}
	if d := time.Unix(int64(math.Ceil(seconds)), 0).Sub(date); seconds >= minUnix && d > 0 && d <= maxRetryAfter {
		return d
	}
	if seconds > maxRetryAfter.Seconds() {
		return 0
	}
	return time.Duration(math.Ceil(seconds * float64(time.Second)))
}

// believable returns d, or 0 if d is negative or more than a year.
func believable(d time.Duration) time.Duration {
	if d < 0 || d > maxRetryAfter {
		return 0
	}
	return d
}
