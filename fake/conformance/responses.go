package conformance

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// statusIs returns the check that the request of ask, with each of these values, gets a status.
func statusIs(status int, ask func(*session, string) *exchange, values ...string) func(*session) {
	return func(s *session) {
		for _, value := range values {
			ask(s, value).want(status)
		}
	}
}

// refuses returns the check that createPet responds with 400 to a body with each of these values.
func refuses(body string, values ...string) func(*session) {
	add := func(s *session, value string) *exchange { return s.ask(createWith(body, value)) }
	return statusIs(http.StatusBadRequest, add, values...)
}

// refusesKey returns the check that the service refuses each of these Authorization headers.
func refusesKey(r request, auths ...string) func(*session) {
	ask := func(s *session, auth string) *exchange { return s.ask(request{r.method, r.path, auth, r.body}) }
	return statusIs(http.StatusUnauthorized, ask, auths...)
}

// provoke spends the key's quota until a 429 comes.
func (s *session) provoke() *exchange {
	if !s.target.Destructive {
		skipf("it takes the whole quota of the key: see Target.Destructive")
	}
	const most = 2500                   // requests, for a limit of 1,000: the first window may end before it is used up
	admitted := make(map[time.Time]int) // number of requests, by the end of their window
	sent, begun := 0, time.Now()
	for ; sent < most && time.Since(begun) < patience; sent++ {
		x := s.send(get("/pets?limit=1"))
		if x.status == http.StatusTooManyRequests {
			return x
		}
		q, ok := x.quota()
		admitted[q.reset]++
		x.expect(!ok || admitted[q.reset] <= q.limit, "429 after %d requests in one window, got %d", q.limit, x.status)
	}
	skipf("%d requests, one at a time, did not use up the quota in %v", sent, time.Since(begun).Round(time.Second))
	return nil
}

// admittedAfter returns the check that a request is admitted after the wait that a 429 asks for.
func admittedAfter(wait func(*exchange) time.Duration) func(*session) {
	return func(s *session) {
		x := orSkip(s.overrun)
		if wait(x) <= 0 {
			skipf("Retry-After is %q, in a form that this package does not know", x.header.Get("Retry-After"))
		}
		s.waitUntil(x.at.Add(wait(x)))
		next := s.send(getPets)
		next.expect(next.status != http.StatusTooManyRequests, "no 429 after a wait of %v, got one", wait(x))
	}
}

// allResponses returns a check of all responses with these statuses; without statuses, of all
// responses. It first sends requests, so that there are successes, a 400, a 401 and a 404.
func allResponses(check func(*exchange), statuses ...int) func(*session) {
	return func(s *session) {
		s.list("")
		for _, r := range []request{create("{}"), getUnknown, {http.MethodGet, "/pets", noKey, ""}} {
			s.ask(r)
		}
		seen := false
		for _, x := range s.log {
			if len(statuses) == 0 || slices.Contains(statuses, x.status) {
				seen = true
				check(x)
			}
		}
		if !seen {
			skipf("there is no such response to look at")
		}
	}
}

// field returns a check: in each object of a response, fits must accept the value of the field.
func field(name string, fits func(x *exchange, raw []byte) bool) func(*exchange) {
	return func(x *exchange) {
		for _, o := range x.objects() {
			x.expect(fits(x, o[name]), "another value of %s, got %s", name, shown(o[name]))
		}
	}
}

// isJSON reports whether a JSON value is of a type: a string, or an int64 without fraction or
// exponent.
func isJSON[T string | int64](_ *exchange, raw []byte) bool {
	return json.Unmarshal(raw, new(T)) == nil && string(raw) != "null"
}

func isPetStatus(_ *exchange, raw []byte) bool {
	var status string
	return raw == nil || json.Unmarshal(raw, &status) == nil && slices.Contains(statuses, status)
}

func isOwnStatus(x *exchange, raw []byte) bool { return string(raw) == strconv.Itoa(x.status) }

// uniqueIDs looks for an id that two pets share, among the pets of the run and within each list.
func uniqueIDs(s *session) {
	created := make(map[string]bool)
	allResponses(func(x *exchange) {
		seen := make(map[string]bool)
		if x.method == http.MethodPost {
			seen = created
		}
		for _, pet := range x.objects() {
			x.expect(!seen[pet.id()], "an id of its own for each pet, got %s for two", pet.id())
			seen[pet.id()] = true
		}
	}, http.StatusOK, http.StatusCreated)(s)
}

func carriesNumber(header string) func(*exchange) {
	return func(x *exchange) {
		_, ok := x.number(header)
		x.expect(ok, "a number of requests as %s, got %q", header, x.header.Get(header))
	}
}

func carriesReset(x *exchange) {
	_, ok := x.reset()
	x.expect(ok, "a Unix timestamp near %d as %s, got %q", x.date.Unix(), headerReset, x.header.Get(headerReset))
}

func remainingFits(x *exchange) {
	q, ok := x.quota()
	x.expect(!ok || q.remaining <= q.limit, "at most %d as %s, got %d", q.limit, headerRemaining, q.remaining)
}

// resetComes checks that X-RateLimit-Reset is not before the Date. It may be up to five seconds
// before, since the service may read its clock some time before it writes the Date.
func resetComes(x *exchange) {
	q, ok := x.quota()
	late := ok && q.reset.Before(x.date.Add(-5*time.Second))
	x.expect(!late || x.header.Get("Date") == "", "%s after the response, got %v", headerReset, q.reset.UTC())
}

// remainingFalls compares the X-RateLimit-Remaining of responses in one window of the key. The key
// may have other users, and the document does not say which requests count. So the number may stay
// the same for some requests, but not for 25. In the last second before the reset it may rise: a
// window that slides in smaller steps has to round the time of its reset.
func remainingFalls(s *session) {
	const strides = 25        // requests
	const unlimited = 1 << 30 // a limit this large means no limit
	var last quota
	stays := 0
	allResponses(func(x *exchange) {
		q, ok := x.quota()
		if !ok || x.auth != validKey {
			return
		}
		same := q.reset.Equal(last.reset) && q.limit == last.limit && q.limit < unlimited &&
			q.reset.Sub(x.date) > time.Second
		x.expect(!same || q.remaining <= last.remaining, "at most %d remaining, got %d", last.remaining, q.remaining)
		stays++
		if !same || q.remaining < last.remaining {
			stays = 0
		}
		x.expect(stays < strides, "%s to fall in %d responses, got %d", headerRemaining, strides, q.remaining)
		last = q
	})(s)
}
