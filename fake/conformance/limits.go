package conformance

import (
	"errors"
	"net/http"
)

// limitClauses are those about a 429, which takes the key's quota.
func limitClauses() []clause {
	return []clause{
		{"8.3", "a request over the limit is 429", func(s *session) { s.overrun() }},
		{"8.3", "a 429 carries Retry-After", retryAfter},
		{"8.2", "the limit resets at X-RateLimit-Reset", limitResets},
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
	if !q.known || 2*q.limit > maxOverrun {
		skipf("the limit is %q: that takes too many requests", x.header.Get(headerLimit))
	}
	// Twice, because a window may end on the way.
	for range 2*q.limit + 2 {
		if x := s.send(r); x.status == http.StatusTooManyRequests {
			return x
		}
	}
	fail(errors.New("the quota is used up, and no request got a 429"))
	return nil
}

// retryAfter looks at all 429 responses; only a destructive run provokes one.
func retryAfter(s *session) {
	err := attempt(func() { s.overrun() })
	none := true
	for _, x := range s.log {
		if x.status == http.StatusTooManyRequests {
			none = false
			carries("Retry-After")(x)
		}
	}
	if none {
		skipf("there was no 429: %v", err)
	}
}

// limitResets waits for the end of the window that the 429 names.
func limitResets(s *session) {
	s.waitUntil(comeBack(orSkip(s.overrun)))
	if x := s.send(get("/pets?limit=1")); x.status == http.StatusTooManyRequests {
		x.failf("the limit has reset, and the request must be admitted")
	}
}
