package conformance

import (
	"errors"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/service"
)

// limitClauses are those about a 429, for which the key's quota must be used up.
func limitClauses() []clause {
	return []clause{
		{"8.3", "a request over the limit is 429 (Destructive)", func(s *session) { s.overrun() }},
		{"8.3", "a 429 carries Retry-After (Destructive)", retryAfter},
		{"8.3", "a request is admitted after Retry-After (Destructive)", retrySucceeds},
		{"8.2", "the limit resets at X-RateLimit-Reset (Destructive)", limitResets},
	}
}

// maxOverrun bounds the requests that provoke a 429.
const maxOverrun = 2500

// provoke spends the key's quota until a 429 comes.
func (s *session) provoke() *exchange {
	if !s.target.Destructive {
		skipf("it takes the whole quota of the key: see Target.Destructive")
	}
	r := get("/pets?limit=1")
	x := s.ask(r)
	q := x.quota()
	if !q.known || q.limit > maxOverrun/2 { // twice the limit may exceed an int of 32 bits
		skipf("the limit is %q: that takes too many requests", x.header.Get(headerLimit))
	}
	admitted := make(map[time.Time]int) // requests by the end of their window
	// Twice the limit, because a window may end meanwhile.
	for range 2*q.limit + 2 {
		x := s.send(r)
		if x.status == http.StatusTooManyRequests {
			return x
		}
		q := x.quota()
		if admitted[q.reset]++; q.known && admitted[q.reset] > q.limit {
			x.failf("the limit is %d, and this request was admitted after as many in one window", q.limit)
		}
	}
	fail(errors.New("the quota is used up, and no request got a 429"))
	return nil
}

// retryAfter looks at all 429 responses; only a destructive run provokes one.
func retryAfter(s *session) {
	err := attempt(func() { s.overrun() })
	list := s.logged(hasStatus(http.StatusTooManyRequests))
	if len(list) == 0 {
		skipf("there was no 429: %v", err)
	}
	for _, x := range list {
		carries("Retry-After")(x)
	}
}

// retrySucceeds waits as long as the 429 asks for, whatever its X-RateLimit-Reset says.
func retrySucceeds(s *session) {
	x := orSkip(s.overrun)
	end := service.RetryAfter(x.header.Get("Retry-After"), x.date())
	if end.IsZero() {
		skipf("Retry-After is %q, in a form that this package does not know", x.header.Get("Retry-After"))
	}
	s.waitUntil(x.local(end))
	s.admitted("the time of Retry-After has passed")
}

// limitResets waits for the end of the window that the 429 names.
func limitResets(s *session) {
	s.waitUntil(comeBack(orSkip(s.overrun)))
	s.admitted("the limit has reset")
}

// admitted fails if the next request gets a 429.
func (s *session) admitted(reason string) {
	if x := s.send(get("/pets?limit=1")); x.status == http.StatusTooManyRequests {
		x.failf("%s, and the request must be admitted", reason)
	}
}
