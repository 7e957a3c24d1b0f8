package conformance

import (
	"fmt"
	"strings"
)

// clause is one rule of the service document.
type clause struct {
	section, text string
	// check returns if the service keeps the rule. Otherwise expect or skipf ends it by a panic, as
	// t.Fatalf and t.Skipf end a test.
	check func(*session)
}

// name is the name of the clause's subtest.
func (c clause) name() string { return c.section + " " + c.text }

// clauses has all clauses in the order of their checks. The first clause needs an empty catalogue;
// the last clauses look at every response of the run.
var clauses = []clause{
	{"4.1", "an empty list is an array", emptyIsArray},
	{"4.1", "success is 200", statusIs(200, (*session).list, "")},
	{"4.1", "the body is an array of Pet objects", func(s *session) { s.list("").pets() }},
	{"4.1", "a pet that was added is listed", showsAdded("?limit=100", added...)},
	{"4.1", "status returns pets of that status only, up to limit", filters},
	{"4.1", "status returns the pet that was added with it", func(s *session) {
		for _, status := range statuses {
			showsAdded("?limit=100&status="+status, status)(s)
		}
	}},
	{"4.1", "limit may be 1 and 100", statusIs(200, (*session).list, "?limit=1", "?limit=100")},
	{"4.1", "limit is the most that is returned, and defaults to 20", limits},

	{"2", "NewPet/name is required", refuses(`{"categoryId":?}`, `$category`)},
	{"2", "NewPet/name is a string", refuses(anyName, `7`, `null`, `true`, `["Rex"]`, `{"first":"Rex"}`)},
	{"2", "NewPet/name keeps all characters", valuesKept(anyName, `$unicode`)},
	{"2", "NewPet/categoryId is required", refuses(`{"name":?}`, `$name`)},
	{"2", "NewPet/categoryId is an integer", refuses(anyID, `"$category"`, `1.5`, `null`, `true`, `[1]`, `{}`)},
	{"2", "NewPet/categoryId is an int64", refuses(anyID, `9223372036854775808`, `-9223372036854775809`)},
	{"2", "NewPet/categoryId keeps all 64 bits", valuesKept(anyID, `9223372036854775807`, `-9223372036854775808`, `0`)},
	{"2", "NewPet/status is optional", statusIs(201, (*session).add, added...)},
	{"2", "NewPet/status is a PetStatus", refuses(anyStatus,
		`"lost"`, `""`, `"Sold"`, `7`, `null`, `true`, `["sold"]`)},
	{"4.2", "the body is the pet that was sent, with an id", valuesKept(anyStatus,
		`"available"`, `"pending"`, `"sold"`)},
	{"4.2", "the request body is required", refuses(`?`, ``)},
	{"4.2", "a body that is not JSON is 400", refuses(`?`, `{"name":$name,"categoryId":1`, `name=Rex&categoryId=1`)},
	{"4.2", "a body that is no NewPet is 400", refuses(`?`, `{}`, `[]`, `null`, `"Rex"`, `7`, `[`+validPet+`]`)},

	{"9", "getPet stays available until 5 December 2030: success is 200", statusIs(200, (*session).fetch, "available")},
	{"4.3", "the body is the pet that was asked for", fetchedAsAdded},
	{"4.3", "an unknown pet is 404", func(s *session) { s.ask(getUnknown).want(404) }},

	{"5", "a valid key is accepted", statusIs(200, (*session).list, "")},
	{"5", "another scheme than Bearer is 401", refusesKey(getPets, "Basic bm9ib2R5Om5vdGhpbmc=", "Token $key", "$key")},
	{"5", "a part of a key, more than a key, or its capitals are 401", refusesKey(getPets,
		"Bearer", "Bearer $half", "Bearer $keyx", "Bearer $KEY")},
	{"5", "listPets without a valid key is 401", refusesKey(getPets, noKey, invalidKey)},
	{"5", "createPet without a valid key is 401", refusesKey(create(validPet), noKey, invalidKey)},
	{"5", "getPet without a valid key is 401", refusesKey(getUnknown, noKey, invalidKey)},

	{"8.3", "a request over the limit is 429 (Destructive)", func(s *session) { s.overrun() }},
	{"8.3", "a 429 carries Retry-After (Destructive)", func(s *session) {
		x := orSkip(s.overrun)
		x.expect(x.header.Get("Retry-After") != "", "Retry-After, got none")
	}},
	{"8.3", "a request is admitted after Retry-After (Destructive)", admittedAfter((*exchange).retryAfter)},
	{"8.2", "the limit resets at X-RateLimit-Reset (Destructive)", admittedAfter((*exchange).wait)},

	{"1", "bodies of successes are application/json", allResponses((*exchange).wantJSON, 200, 201)},
	{"2", "Pet/id is an int64", allResponses(field("id", isJSON[int64]), 200, 201)},
	{"2", "Pet/id is unique", uniqueIDs},
	{"2", "Pet/name is a string", allResponses(field("name", isJSON[string]), 200, 201)},
	{"2", "Pet/categoryId is an int64", allResponses(field("categoryId", isJSON[int64]), 200, 201)},
	{"2", "Pet/status is a PetStatus if it is there", allResponses(field("status", isPetStatus), 200, 201)},
	{"7", "errors are application/json", allResponses((*exchange).wantJSON, 400, 401, 404)},
	{"7", "errors have an Error body", allResponses(func(x *exchange) { x.objects() }, 400, 401, 404)},
	{"2", "Error/code is a string", allResponses(field("code", isJSON[string]), 400, 401, 404)},
	{"2", "Error/message is a string", allResponses(field("message", isJSON[string]), 400, 401, 404)},
	{"2", "Error/status is the HTTP status", allResponses(field("status", isOwnStatus), 400, 401, 404)},
	{"8.2", "every response carries X-RateLimit-Limit, a number of requests", allResponses(carriesNumber(headerLimit))},
	{"8.2", "every response carries X-RateLimit-Remaining, a number of requests",
		allResponses(carriesNumber(headerRemaining))},
	{"8.2", "every response carries X-RateLimit-Reset, a Unix timestamp", allResponses(carriesReset)},
	{"8.2", "X-RateLimit-Remaining is at most X-RateLimit-Limit", allResponses(remainingFits)},
	{"8.2", "X-RateLimit-Remaining falls within a window, and does not rise", remainingFalls},
	{"8.2", "X-RateLimit-Reset is not in the past", allResponses(resetComes)},
}

// problem is why a check ended early: the service breaks the clause or, with skip, the check cannot
// tell whether the service does. Checks do not call testing.T, so that tests can see a clause fail.
type problem struct {
	text string
	skip bool
}

// skipf ends the check as skipped.
func skipf(format string, args ...any) { panic(&problem{fmt.Sprintf(format, args...), true}) }

// problemOf calls f, and returns the problem that ended it, or nil.
func problemOf(f func()) (p *problem) {
	defer func() {
		if v := recover(); v != nil {
			p = v.(*problem) // another panic is a mistake of this package, and panics again here
		}
	}()
	f()
	return nil
}

// orSkip returns the result of f. If f fails, it skips the check: another clause reports this.
func orSkip[T any](f func() T) (result T) {
	if p := problemOf(func() { result = f() }); p != nil {
		skipf("%s", p.text)
	}
	return result
}

// check checks a clause. The text of a problem names the section, and never the key.
func (s *session) check(c clause) *problem {
	p := problemOf(func() { c.check(s) })
	if p == nil {
		return nil
	}
	return &problem{fmt.Sprintf("section %s: %.600s", c.section, s.redact(p.text)), p.skip}
}

// redact takes the key out of a text. It also takes out the half of the key that the session sends,
// unless this half is so short that any word may contain it.
func (s *session) redact(text string) string {
	key := s.target.APIKey
	text = strings.ReplaceAll(text, key, "[key]")
	if half := key[:len(key)/2]; len(half) >= 6 {
		text = strings.ReplaceAll(text, half, "[key]")
	}
	return text
}
