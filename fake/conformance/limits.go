package conformance

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// The headers of every response (section 8.2).
const (
	headerLimit     = "X-RateLimit-Limit"
	headerRemaining = "X-RateLimit-Remaining"
	headerReset     = "X-RateLimit-Reset"
)

// limitClauses are those of section 8. They look at all responses so far, and so they come last.
func limitClauses() []clause {
	return []clause{
		{"8.3", "a request over the limit is 429", func(s *session) { s.overrun() }},
		{"8.3", "a 429 carries Retry-After", retryAfter},
		{"8.2", "the limit resets at X-RateLimit-Reset", limitResets},
		{"8.2", "every response carries X-RateLimit-Limit", everyResponse(headerLimit)},
		{"8.2", "every response carries X-RateLimit-Remaining", everyResponse(headerRemaining)},
		{"8.2", "every response carries X-RateLimit-Reset", everyResponse(headerReset)},
		{"8.2", "X-RateLimit-Limit is a number of requests", everyValue(headerLimit, isCount)},
		{"8.2", "X-RateLimit-Remaining is a number of requests", everyValue(headerRemaining, isCount)},
		{"8.2", "X-RateLimit-Reset is a Unix timestamp", everyValue(headerReset, isTimestamp)},
		{"8.2", "X-RateLimit-Remaining does not rise within a window", remainingFalls},
	}
}

func everyResponse(header string) func(*session) {
	return func(s *session) {
		s.samples()
		for _, x := range s.log {
			if len(x.header.Values(header)) == 0 {
				x.failf("%s is missing", header)
			}
		}
	}
}

// everyValue is the clause that a header is right wherever it is there.
func everyValue(header string, check func(string, *exchange) error) func(*session) {
	return func(s *session) {
		s.samples()
		for _, x := range s.log {
			for _, value := range x.header.Values(header) {
				if err := check(value, x); err != nil {
					x.failf("%s: %v", header, err)
				}
			}
		}
	}
}

func isCount(value string, _ *exchange) error {
	if n, err := strconv.Atoi(value); err != nil || n < 0 {
		return fmt.Errorf("%q is not a number of requests", value)
	}
	return nil
}

// isTimestamp refuses seconds to go and milliseconds, which are no Unix timestamp: no limit of the
// document lasts longer than a day, and a custom one hardly a year.
func isTimestamp(value string, x *exchange) error {
	const year = 366 * 24 * time.Hour
	sec, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not a number of seconds", value)
	}
	if d := time.Unix(sec, 0).Sub(x.date()).Abs(); d > year {
		return fmt.Errorf("%q is not a Unix timestamp near %s", value, x.date().UTC().Format(time.RFC3339))
	}
	return nil
}

// remainingFalls compares responses to the key that follow each other in one window. How fast the
// number falls depends on what counts, which is not described, and on other users of the key.
func remainingFalls(s *session) {
	s.samples()
	var last quota
	for _, x := range s.log {
		q := x.quota()
		if x.auth != validKey || !q.known {
			continue
		}
		if q.sameWindow(last) && q.remaining > last.remaining {
			x.failf("%s rose from %d to %d", headerRemaining, last.remaining, q.remaining)
		}
		last = q
	}
}

// errNever is the verdict on a service that keeps admitting requests.
var errNever = errors.New("the quota is used up, and no request got a 429")

// maxOverrun bounds the requests that provoke a 429.
const maxOverrun = 2500

// overrun spends the key's quota until a 429 comes, once in a session.
func (s *session) overrun() *exchange {
	if s.over == nil && s.overErr == nil {
		s.overErr = attempt(func() { s.over = s.provoke() })
	}
	if s.overErr != nil {
		fail(s.overErr)
	}
	return s.over
}

func (s *session) provoke() *exchange {
	if !s.target.Destructive {
		skipf("it takes the whole quota of the key: see Target.Destructive")
	}
	r := get("/pets?limit=1")
	x := s.ask(r)
	q := x.quota()
	if !q.known || 2*q.limit > maxOverrun {
		skipf("the limit is %q: that takes too many requests", x.header.Get(headerLimit))
	}
	// Twice, because a window may end on the way.
	for range 2*q.limit + 2 {
		if x := s.send(r); x.status == http.StatusTooManyRequests {
			return x
		}
	}
	fail(errNever)
	return nil
}

// retryAfter looks at all 429 responses; only a destructive run provokes one.
func retryAfter(s *session) {
	err := attempt(func() { s.overrun() })
	if err != nil && !isSkip(err) && !errors.Is(err, errNever) {
		fail(err)
	}
	seen := false
	for _, x := range s.log {
		if x.status == http.StatusTooManyRequests {
			seen = true
			if x.header.Get("Retry-After") == "" {
				x.failf("Retry-After is missing")
			}
		}
	}
	if !seen {
		skipf("there was no 429: see Target.Destructive")
	}
}

// limitResets waits for the end of the window that the 429 names.
func limitResets(s *session) {
	err := attempt(func() { s.overrun() })
	if errors.Is(err, errNever) {
		skipf("there was no 429")
	}
	if err != nil {
		fail(err)
	}
	s.waitUntil(comeBack(s.over), "the 429")
	if x := s.send(get("/pets?limit=1")); x.status == http.StatusTooManyRequests {
		x.failf("the limit has reset, and the request must be admitted")
	}
}
