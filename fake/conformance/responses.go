package conformance

import (
	"net/http"
	"slices"
)

// responseClauses look at all responses so far, and so they come last: those of section 1, of
// section 2 about Pet and Error, of section 7, and of section 8.2 about each header. The body of a
// 429 is left out: the document does not describe it.
func responseClauses() []clause {
	success := (*exchange).success
	return []clause{
		{"1", "bodies of successes are application/json", each(success, (*exchange).wantJSON)},
		{"2", "Pet/id is an int64", eachField(success, "id", is[int64])},
		{"2", "Pet/id is unique", uniqueIDs},
		{"2", "Pet/name is a string", eachField(success, "name", is[string])},
		{"2", "Pet/categoryId is an int64", eachField(success, "categoryId", is[int64])},
		{"2", "Pet/status is a PetStatus if it is there", eachField(success, "status", isPetStatus)},
		{"7", "errors are application/json", each(hasError, (*exchange).wantJSON)},
		{"7", "a 400 has an Error body", each(hasStatus(http.StatusBadRequest), isObject)},
		{"7", "a 401 has an Error body", each(hasStatus(http.StatusUnauthorized), isObject)},
		{"7", "a 404 has an Error body", each(hasStatus(http.StatusNotFound), isObject)},
		{"2", "Error/code is a string", eachField(hasError, "code", is[string])},
		{"2", "Error/message is a string", eachField(hasError, "message", is[string])},
		{"2", "Error/status is the HTTP status", eachField(hasError, "status", isStatus)},
		{"8.2", "every response carries X-RateLimit-Limit", each(whatever, carries(headerLimit))},
		{"8.2", "every response carries X-RateLimit-Remaining", each(whatever, carries(headerRemaining))},
		{"8.2", "every response carries X-RateLimit-Reset", each(whatever, carries(headerReset))},
		{"8.2", "X-RateLimit-Limit is a number of requests", each(has(headerLimit), isCount(headerLimit))},
		{"8.2", "X-RateLimit-Remaining is a number of requests", each(has(headerRemaining), isCount(headerRemaining))},
		{"8.2", "X-RateLimit-Reset is a Unix timestamp", each(has(headerReset), isTimestamp)},
		{"8.2", "X-RateLimit-Remaining does not rise within a window", remainingFalls},
	}
}

// each is the clause that all responses of a kind are right. It skips if there are none.
func each(kind func(*exchange) bool, check func(*exchange)) func(*session) {
	return func(s *session) {
		for _, x := range s.responses(kind) {
			check(x)
		}
	}
}

// responses returns the responses of a kind so far, among them one to each kind of request. It
// skips if there are none.
func (s *session) responses(kind func(*exchange) bool) []*exchange {
	s.samples()
	list := slices.DeleteFunc(slices.Clone(s.log), func(x *exchange) bool { return !kind(x) })
	if len(list) == 0 {
		skipf("there is no such response to look at")
	}
	return list
}

// eachField is the clause that a field is right in all objects of a kind of responses. Bodies of
// other types are left to other clauses.
func eachField(kind func(*exchange) bool, field string, keeps rule) func(*session) {
	return func(s *session) {
		none := true
		for _, x := range s.responses(kind) {
			for _, o := range x.objects() {
				none = false
				if err := keeps(o[field], x); err != nil {
					x.failf("%s of the object with id %q: %v", field, o.id(), err)
				}
			}
		}
		if none {
			skipf("there is no object to look at")
		}
	}
}

func whatever(*exchange) bool { return true }

func hasStatus(status int) func(*exchange) bool {
	return func(x *exchange) bool { return x.status == status }
}

// hasError reports whether the document describes an Error body for the status.
func hasError(x *exchange) bool {
	return slices.Contains([]int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound}, x.status)
}

func isObject(x *exchange) {
	if _, err := read[object](x.response); err != nil {
		x.failf("the body is no Error: %v", err)
	}
}

// uniqueIDs looks for an id that two pets share, among those added and within each list.
func uniqueIDs(s *session) {
	added := make(map[string]bool)
	for _, x := range s.responses((*exchange).success) {
		seen := added
		if x.method != http.MethodPost {
			seen = make(map[string]bool)
		}
		for _, pet := range x.objects() {
			if seen[pet.id()] {
				x.failf("another pet has the id %s", pet.id())
			}
			seen[pet.id()] = true
		}
	}
}

func has(header string) func(*exchange) bool {
	return func(x *exchange) bool { return len(x.header.Values(header)) > 0 }
}

func carries(header string) func(*exchange) {
	return func(x *exchange) {
		if !has(header)(x) {
			x.failf("%s is missing", header)
		}
	}
}

func isCount(header string) func(*exchange) {
	return func(x *exchange) {
		if _, err := x.count(header); err != nil {
			x.failf("%s: %v", header, err)
		}
	}
}

func isTimestamp(x *exchange) {
	if _, err := x.reset(); err != nil {
		x.failf("%s: %v", headerReset, err)
	}
}

// remainingFalls compares responses to the key that follow each other in one window. How fast the
// number falls depends on what counts, which is not described, and on other users of the key.
func remainingFalls(s *session) {
	var last quota
	for _, x := range s.responses(hasQuota) {
		q := x.quota()
		if q.sameWindow(last) && q.remaining > last.remaining {
			x.failf("%s rose from %d to %d", headerRemaining, last.remaining, q.remaining)
		}
		last = q
	}
}

// hasQuota reports whether the response shows the quota of the key.
func hasQuota(x *exchange) bool { return x.auth == validKey && x.quota().known }
