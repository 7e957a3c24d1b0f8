package conformance

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/petstore/petstore-go/internal/service"
)

// unlimited and larger numbers in X-RateLimit-Limit mean that there is no limit.
const unlimited = 1 << 30

const (
	headerLimit     = service.HeaderLimit
	headerRemaining = service.HeaderRemaining
	headerReset     = service.HeaderReset
)

// responseClauses are those of section 1, of section 2 about Pet and Error, of section 7, and of
// section 8.2 about each header. They come last, because they look at all responses so far. They do
// not look at the body of a 429, which the document does not describe.
func responseClauses() []clause {
	list := []clause{
		{"1", "bodies of successes are application/json", each(hasBody, (*exchange).wantJSON)},
		{"2", "Pet/id is an int64", each(hasPets, field("id", is[int64]))},
		{"2", "Pet/id is unique", uniqueIDs},
		{"2", "Pet/name is a string", each(hasPets, field("name", is[string]))},
		{"2", "Pet/categoryId is an int64", each(hasPets, field("categoryId", is[int64]))},
		{"2", "Pet/status is a PetStatus if it is there", each(hasPets, field("status", isPetStatus))},
		{"7", "errors are application/json", each(documentsError, (*exchange).wantJSON)},
		{"7", "a 400 has an Error body", each(hasStatus(http.StatusBadRequest), isObject)},
		{"7", "a 401 has an Error body", each(hasStatus(http.StatusUnauthorized), isObject)},
		{"7", "a 404 has an Error body", each(hasStatus(http.StatusNotFound), isObject)},
		{"2", "Error/code is a string", each(hasError, field("code", is[string]))},
		{"2", "Error/message is a string", each(hasError, field("message", is[string]))},
		{"2", "Error/status is the HTTP status", each(hasError, errorStatus)},
		{"8.2", "X-RateLimit-Remaining is at most X-RateLimit-Limit", each(hasQuota, remainingFits)},
		{"8.2", "X-RateLimit-Remaining falls within a window, and does not rise", remainingFalls},
		{"8.2", "X-RateLimit-Reset is not in the past", each(hasQuota, resetComes)},
	}
	for _, h := range []struct{ name, what string }{
		{headerLimit, "a number of requests"}, {headerRemaining, "a number of requests"}, {headerReset, "a Unix timestamp"},
	} {
		list = append(list,
			clause{"8.2", "every response carries " + h.name, each(whatever, carries(h.name))},
			clause{"8.2", h.name + " is " + h.what, each(hasHeader(h.name), makesSense(h.name))},
		)
	}
	return list
}

// kind reports whether a response is of a kind.
type kind func(*exchange) bool

// each returns a check of all responses of a kind. It skips if there are none.
func each(k kind, check func(*exchange)) func(*session) {
	return func(s *session) {
		for _, x := range s.responses(k) {
			check(x)
		}
	}
}

// responses first sends the kinds of requests that were not sent yet. Then it returns all responses
// of a kind so far, and skips if there are none.
func (s *session) responses(k kind) []*exchange {
	s.samples()
	list := s.logged(k)
	if len(list) == 0 {
		skipf("there is no such response to look at")
	}
	return list
}

func (s *session) logged(k kind) []*exchange {
	return slices.DeleteFunc(slices.Clone(s.log), func(x *exchange) bool { return !k(x) })
}

// The kinds of responses. Other clauses check whether a body has the right type.

func whatever(*exchange) bool   { return true }
func hasBody(x *exchange) bool  { return x.success() && x.status != http.StatusNoContent }
func hasPets(x *exchange) bool  { return x.success() && hasObjects(x) }
func hasError(x *exchange) bool { return documentsError(x) && hasObjects(x) }
func hasHeader(name string) kind {
	return func(x *exchange) bool { return len(x.header.Values(name)) > 0 }
}
func hasStatus(status int) kind { return func(x *exchange) bool { return x.status == status } }

func hasObjects(x *exchange) bool {
	list, _ := x.objects()
	return len(list) > 0
}

// documentsError reports whether the document describes an Error body for the status.
func documentsError(x *exchange) bool {
	return slices.Contains([]int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound}, x.status)
}

// hasQuota reports whether the response shows the quota of the key.
func hasQuota(x *exchange) bool { return x.auth == validKey && x.quota().known }

// field checks a field of all objects of a response.
func field(name string, fits func(raw []byte) bool) func(*exchange) {
	return func(x *exchange) {
		list, _ := x.objects()
		for _, o := range list {
			if !fits(o[name]) {
				whole, _ := json.Marshal(o)
				x.failf("%s is %s in %s", name, show(o[name]), show(whole))
			}
		}
	}
}

func errorStatus(x *exchange) {
	field("status", func(raw []byte) bool {
		status, err := read[int64](raw)
		return err == nil && status == int64(x.status)
	})(x)
}

func isObject(x *exchange) {
	if _, err := x.objects(); err != nil {
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
		pets, _ := x.objects()
		for _, pet := range pets {
			if seen[pet.id()] {
				x.failf("another pet has the id %s", pet.id())
			}
			seen[pet.id()] = true
		}
	}
}

func carries(header string) func(*exchange) {
	return func(x *exchange) {
		if !hasHeader(header)(x) {
			x.failf("%s is missing", header)
		}
	}
}

// makesSense checks the value of a rate limit header.
func makesSense(header string) func(*exchange) {
	return func(x *exchange) {
		_, err := service.Requests(x.header, header)
		if header == headerReset {
			_, err = service.Reset(x.header, x.date())
		}
		if err != nil {
			x.failf("%s: %v", header, err)
		}
	}
}

func remainingFits(x *exchange) {
	if q := x.quota(); q.remaining > q.limit {
		x.failf("%d requests remain of %d", q.remaining, q.limit)
	}
}

// resetComes checks that the reset is not before the response. It allows some seconds, since the
// service may have read its clock well before it wrote the Date.
func resetComes(x *exchange) {
	const slack = 5 * time.Second
	if reset := x.quota().reset; x.header.Get("Date") != "" && reset.Before(x.date().Add(-slack)) {
		x.failf("the limit resets at %s, before the response", reset.UTC().Format(time.RFC3339))
	}
}

// remainingFalls compares responses that follow each other in one window of the key. How fast the
// number falls depends on which requests count, which is not described, and on other users of the
// key. It may stay the same for some requests, but not for 25 of them.
func remainingFalls(s *session) {
	const strides = 25 // requests
	var last quota
	stays := 0
	for _, x := range s.responses(hasQuota) {
		q := x.quota()
		stays++
		if !q.reset.Equal(last.reset) || q.limit != last.limit || q.remaining < last.remaining || q.limit >= unlimited {
			stays = 0
		} else if q.remaining > last.remaining {
			x.failf("%s rose from %d to %d", headerRemaining, last.remaining, q.remaining)
		}
		if stays >= strides {
			x.failf("%s was %d in %d responses one after another", headerRemaining, q.remaining, stays+1)
		}
		last = q
	}
}
