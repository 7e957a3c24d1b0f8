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

// RateLimit is the caller's quota as the X-RateLimit headers of one response gave it (section 8.2).
//
// The zero RateLimit means that a header was missing or malformed, and says nothing about the quota.
// An exhausted quota is Limit > 0 and Remaining == 0.
type RateLimit struct {
	// Limit is the number of requests that the current window allows.
	Limit int
	// Remaining is the number of requests left in the current window.
	Remaining int
	// Reset is when the window ends, by the service's clock, to the second.
	Reset time.Time
}

// IsZero reports whether nothing is known: a header was missing or malformed.
func (r RateLimit) IsZero() bool { return r == RateLimit{} }

// Limiter admits the requests of one API key. A [Client] asks it before every attempt, retries
// included, and reports to it what each response revealed. Implementations are safe for concurrent use.
type Limiter interface {
	// Acquire blocks until one request may be sent. It returns a *RateLimitError at once if that
	// would take longer than maxWait or than ctx allows, and no Permit with any error.
	Acquire(ctx context.Context, maxWait time.Duration) (Permit, error)
	// RateLimit returns the most recent rate limit known for the key, the zero RateLimit before
	// there is one.
	RateLimit() RateLimit
}

// Reopener is a [Limiter] that can be made to ask the service again; [Client.Reopen] uses it.
type Reopener interface {
	// Reopen has one request ask the service although the key is closed. keyID is that of a [Call]; empty
	// means every key. It does not block and sends nothing by itself.
	Reopen(keyID string)
}

// Permit allows one request to be sent. Release is called exactly once, whatever became of it.
type Permit interface {
	// Release gives the permit back with what became of the request.
	Release(Observation)
}

// Observation is what became of a request that a [Permit] admitted. The zero Observation says that
// nothing was sent: the permit goes back unused.
type Observation struct {
	// Sent is when the request was handed to the transport, by the local clock; zero if nothing
	// was sent.
	Sent time.Time
	// Received is when the header of the response had arrived, by the local clock; zero if no
	// answer came, in which case the request counts as spent.
	Received time.Time
	// StatusCode is the response's, 0 if none came.
	StatusCode int
	// RateLimit is what the response's headers said, zero if they said nothing usable.
	RateLimit RateLimit
	// RetryAfter is how long the response asked the client to stay away, counted from Received;
	// zero if it did not ask or not in a usable form.
	RetryAfter time.Duration
	// Date is the service's clock, from the Date header, to the second; zero if absent.
	Date time.Time
	// Abandoned reports that the caller gave up before a response came. The request counts as spent, and
	// says nothing about the service.
	Abandoned bool
}

// The headers of the rate limit by their canonical keys: looking one up by the spelling of the document
// would allocate.
const (
	headerLimit      = "X-Ratelimit-Limit"
	headerRemaining  = "X-Ratelimit-Remaining"
	headerReset      = "X-Ratelimit-Reset"
	headerRetryAfter = "Retry-After"
	headerDate       = "Date"
)

// maxUnix is the last second of the year 9999, beyond which a time cannot be written in RFC 3339.
const maxUnix = 253402300799

// maxRetryAfter is the longest Retry-After that is believed. Longer ones are mistakes, and believing one
// would stop a process until its restart.
const maxRetryAfter = 366 * 24 * time.Hour

// parseRateLimit is all or nothing: with one header missing or malformed the others mean little.
func parseRateLimit(h http.Header) RateLimit {
	limit, ok1 := parseCount(h[headerLimit], math.MaxInt32)
	remaining, ok2 := parseCount(h[headerRemaining], math.MaxInt32)
	reset, ok3 := parseCount(h[headerReset], maxUnix)
	if !ok1 || !ok2 || !ok3 {
		return RateLimit{}
	}
	return RateLimit{int(limit), int(remaining), time.Unix(reset, 0).UTC()}
}

// parseCount takes one header value of decimal digits, up to most.
func parseCount(values []string, most int64) (int64, bool) {
	if len(values) != 1 {
		return 0, false
	}
	return parseDecimal(values[0], most)
}

// maxDecimal is the largest number that parseDecimal can be asked for.
const maxDecimal = math.MaxInt64/10 - 1

// parseDecimal takes digits and nothing else, up to most. Each response has a few such numbers, and each pet two, for
// which strconv, with signs and bases to think of, takes three times as long.
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

// dateParser remembers the last Date, which many responses of a second have in common.
type dateParser struct{ last atomic.Pointer[parsedDate] }

type parsedDate struct {
	text string
	time time.Time
}

// parse is the service's clock, zero if it is not sent.
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

// parseRetryAfter returns how long the response asks to stay away, counted from its arrival; 0 if it does not
// ask, or in no usable way. The document leaves unit and format open (section 8.4): seconds, fractions of
// them, the three forms of an HTTP-date and Unix timestamps are understood. Moments are taken relative to
// date, the response's own, so that a wrong clock on either side does not matter. The latest of several
// values counts.
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

// parseRetryAfterValue takes the values of one header line, which are separated by commas, as the day of the week
// is from the rest of a date.
func parseRetryAfterValue(value string, date time.Time) (longest time.Duration) {
	var day string
	for part := range strings.SplitSeq(value, ",") {
		part = strings.TrimSpace(part)
		if t, err := http.ParseTime(day + ", " + part); err == nil {
			longest = max(longest, believable(t.Sub(date)))
		} else if t, err := http.ParseTime(part); err == nil { // as asctime writes it
			longest = max(longest, believable(t.Sub(date)))
		} else {
			longest = max(longest, parseDelay(part, date))
		}
		day = part
	}
	return longest
}

// parseDelay takes a number: a Unix timestamp if it lies within the next year as one, or else seconds.
func parseDelay(s string, date time.Time) time.Duration {
	if s == "" || strings.Trim(s, "0123456789.") != "" {
		return 0 // a sign, an exponent, NaN, hexadecimal, a word
	}
	seconds, err := strconv.ParseFloat(s, 64)
	if err != nil || seconds > maxUnix {
		return 0
	}
	if d := time.Unix(int64(math.Ceil(seconds)), 0).Sub(date); d > 0 && d <= maxRetryAfter {
		return d
	}
	if seconds > maxRetryAfter.Seconds() {
		return 0
	}
	return time.Duration(math.Ceil(seconds * float64(time.Second)))
}

func believable(d time.Duration) time.Duration {
	if d < 0 || d > maxRetryAfter {
		return 0
	}
	return d
}
