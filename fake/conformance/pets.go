package conformance

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A session adds a pet of each status, and one without a status.
var (
	statuses = []string{"available", "pending", "sold"}
	added    = append(statuses[:3:3], "")
)

// Bodies of createPet. A check puts its own value in place of the question mark.
const (
	validPet  = `{"name":$name,"categoryId":$category}`
	anyName   = `{"name":?,"categoryId":$category}`
	anyID     = `{"name":$name,"categoryId":?}`
	anyStatus = `{"name":$name,"categoryId":$category,"status":?}`
)

func createWith(body, value string) request { return create(strings.ReplaceAll(body, "?", value)) }

// add adds a pet with a status.
func (s *session) add(status string) *exchange {
	if status == "" {
		return s.ask(create(validPet))
	}
	return s.ask(createWith(anyStatus, `"`+status+`"`))
}

// addedPet returns the pet that was added with a status. If it was refused, it skips the check.
func (s *session) addedPet(status string) object { return orSkip(s.add(status).pet) }

// list adds the session's pets, and then calls listPets with a query. If a pet cannot be added,
// other clauses report it.
func (s *session) list(query string) *exchange {
	for _, status := range added {
		_ = problemOf(func() { s.add(status) })
	}
	return s.ask(get("/pets" + query))
}

// page returns the pets of a list. It skips the check if the list is unreadable, since another
// clause reports that.
func (s *session) page(query string) ([]object, *exchange) {
	x := s.list(query)
	return orSkip(x.pets), x
}

// emptyIsArray asks for the pets of each status, before the session adds any.
func emptyIsArray(s *session) {
	empty := false
	for _, status := range statuses {
		x := s.ask(get("/pets?limit=1&status=" + status))
		body := strings.TrimSpace(x.response)
		x.expect(body != "" && body != "null", "[] for an empty list, got %q", body)
		empty = empty || body == "[]"
	}
	if !empty {
		skipf("there are pets of every status, so that no list is empty")
	}
}

// limits checks that lists have as many pets as their limit. A service may have shorter pages, but
// then no page may be longer, not even that of limit=100. It adds pets until there are more than a
// list without a limit shows.
func limits(s *session) {
	list, _ := s.page("?limit=100")
	for range 21 - len(list) {
		delete(s.memo, create(validPet)) // so that ask sends it again
		_ = problemOf(func() { s.ask(create(validPet)) })
	}
	list, _ = s.page("?limit=100")
	all := len(list)
	for query, limit := range map[string]int{"?limit=1": 1, "?limit=2": 2, "": 20, "?limit=20": 20, "?limit=100": 100} {
		list, x := s.page(query)
		x.expect(len(list) <= limit, "at most %d pets, got %d", limit, len(list))
		x.expect(len(list) >= min(limit, all), "at least %d pets, got %d", min(limit, all), len(list))
	}
}

// filters checks that a list of a status has only pets of it, and as many as the limit allows.
func filters(s *session) {
	for _, status := range statuses {
		want := []byte(strconv.Quote(status))
		matches := field("status", func(_ *exchange, raw []byte) bool { return equal(raw, want) })
		all, x := s.page("?limit=100&status=" + status)
		matches(x)
		for query, limit := range map[string]int{"?limit=1&status=": 1, "?status=": 20} {
			list, x := s.page(query + status)
			matches(x)
			most, got := min(limit, len(all)), len(list)
			x.expect(got >= most && got <= limit, "%d pets of %d, got %d", most, len(all), got)
		}
	}
}

// showsAdded returns the check that each pet that was added is in the list exactly once. A missing
// pet is an error only if the list is complete. If a service has pages shorter than the limit,
// their size is almost certainly a multiple of five: a list of such a size may be incomplete.
func showsAdded(query string, statuses ...string) func(*session) {
	return func(s *session) {
		for _, status := range statuses {
			want := s.addedPet(status)
			list, x := s.page(query)
			found := 0
			for _, pet := range list {
				if pet.id() == want.id() {
					x.wantPet(pet, want)
				}
				if equal(pet["name"], want["name"]) {
					found++
				}
			}
			if found == 0 && len(list) > 0 && len(list)%5 == 0 {
				skipf("the list has %d pets, and there may be more", len(list))
			}
			x.expect(found == 1, "the pet %s once, got it %d times", want.id(), found)
		}
	}
}

// valuesKept returns a check: for each value, createPet must return the pet with that value. So
// must getPet, which reads the pet from the store. A service may refuse a value, since the document
// says neither which categories exist nor how long a name may be.
func valuesKept(body string, values ...string) func(*session) {
	return func(s *session) {
		kept := false
		for _, value := range values {
			x := s.ask(createWith(body, value))
			if x.status != http.StatusBadRequest {
				kept = true
				pet := x.pet()
				x.expect(pet["id"] != nil, "a pet with an id, got none")
				var sent object
				_ = json.Unmarshal([]byte(x.body), &sent) // this package wrote it
				x.wantPet(pet, sent)
				if y := s.ask(get("/pets/" + pet.id())); y.success() {
					y.wantPet(y.pet(), sent)
				}
			}
		}
		if !kept {
			skipf("the service refuses these values")
		}
	}
}

// fetch calls getPet for the pet that was added with a status. It skips the check if getPet may
// have been removed.
func (s *session) fetch(status string) *exchange {
	x := s.ask(get("/pets/" + s.addedPet(status).id()))
	if !x.success() && x.date.After(time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC)) {
		skipf("getPet may have been removed, as announced for 5 December 2030")
	}
	return x
}

// fetchedAsAdded looks at several pets, since one pet would not show that getPet always returns the
// same one.
func fetchedAsAdded(s *session) {
	for _, status := range added {
		x := s.fetch(status)
		x.wantPet(x.pet(), s.addedPet(status))
	}
}
