package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The bounds of limit (sections 4.1 and 8.4).
const (
	defaultLimit = 20
	maxLimit     = 100
)

// listClauses are those of section 4.1.
func listClauses() []clause {
	list := []clause{
		{"4.1", "an empty list is an array", emptyIsArray}, // before any pet is added
		{"4.1", "success is 200", func(s *session) { s.list("").want(http.StatusOK) }},
		{"4.1", "the body is an array of Pet objects", func(s *session) { s.list("").pets() }},
		{"4.1", "limit defaults to 20", limitDefault},
		{"4.1", "limit may be 1", func(s *session) { s.list("?limit=1").accepted() }},
		{"4.1", "limit may be 100", func(s *session) { s.list("?limit=100").accepted() }},
		{"4.1", "limit is the most that is returned", limitObeyed},
		{"4.1", "limit and status go together", limitAndStatus},
		{"4.1", "a pet that was added is listed", addedIsListed},
	}
	for _, status := range statuses {
		list = append(list,
			clause{"4.1", "status=" + status + " returns " + status + " pets only", statusFilters(status)},
			clause{"4.1", "status=" + status + " returns the one that was added", statusFinds(status)},
		)
	}
	return list
}

// emptyIsArray asks for the pets of each status until there are none of one.
func emptyIsArray(s *session) {
	for _, status := range statuses {
		x := s.askPolitely(get("/pets?limit=1&status=" + status)) // and once more when pets were added
		list, err := read[array]([]byte(x.response))
		body := strings.TrimSpace(x.response)
		switch {
		case !x.success():
		case body == "null" || body == "":
			x.failf("an empty list must be []: %v", err)
		case err == nil && len(list) == 0:
			return
		}
	}
	skipf("there are pets of every status, so that no list is empty")
}

// limitDefault compares the list without a limit to those with one, which needs more pets than
// the default shows. A page may be shorter than its limit; then so is that without one.
func limitDefault(s *session) {
	most, _ := s.page("?limit=100")
	twenty, _ := s.page("?limit=20")
	plain, x := s.page("")
	switch {
	case len(plain) > defaultLimit:
		x.failf("the list without a limit has %d pets, more than %d", len(plain), defaultLimit)
	case len(most) <= defaultLimit:
		skipf("the catalogue shows %d pets, and more than %d are needed", len(most), defaultLimit)
	case len(plain) != len(twenty):
		x.failf("the list has %d pets without a limit, and %d with limit=20", len(plain), len(twenty))
	}
}

func limitObeyed(s *session) {
	for _, limit := range []int{1, maxLimit} {
		if list, x := s.page(fmt.Sprintf("?limit=%d", limit)); len(list) > limit {
			x.failf("limit is %d, and there are %d pets", limit, len(list))
		}
	}
}

func limitAndStatus(s *session) {
	list, x := s.page("?limit=1&status=sold")
	if len(list) > 1 {
		x.failf("limit is 1, and there are %d pets", len(list))
	}
	x.wantAll(list, "sold")
}

// wantAll fails unless all pets have a status.
func (x *exchange) wantAll(list []object, status string) {
	for _, pet := range list {
		x.wantField(pet, "status", []byte(strconv.Quote(status)))
	}
}

func statusFilters(status string) func(*session) {
	return func(s *session) {
		query := "?limit=100&status=" + status
		s.list(query).accepted()
		list, x := s.page(query)
		x.wantAll(list, status)
	}
}

func statusFinds(status string) func(*session) {
	return func(s *session) {
		pet := s.mine(status)
		if !same(pet["status"], []byte(strconv.Quote(status))) {
			skipf("the pet was not added with that status")
		}
		s.wantListed("?limit=100&status="+status, pet)
	}
}

func addedIsListed(s *session) { s.wantListed("?limit=100", s.mine("")) }

// wantListed fails unless a list has a pet. A page may be shorter than its limit: only a list that
// is shorter than any reasonable page is taken for all there is.
func (s *session) wantListed(query string, want object) {
	list, x := s.page(query)
	const shortest = 10
	if len(list) >= shortest {
		skipf("the list has %d pets, and there may be more", len(list))
	}
	if !slices.ContainsFunc(list, func(pet object) bool { return pet.id() == want.id() }) {
		x.failf("the pet %s is not in the list", want.id())
	}
}
