package conformance

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// The bounds of limit (sections 4.1 and 8.4).
const (
	defaultLimit = 20
	maxLimit     = 100
)

// listPetsClauses are those of section 4.1. Those that may have to add pets first come last.
func listPetsClauses() []clause {
	list := []clause{
		{"4.1", "an empty list is an array", emptyIsArray}, // before any pet is added
		{"4.1", "success is 200", func(s *session) { s.list("").want(http.StatusOK) }},
		{"4.1", "the body is an array of Pet objects", func(s *session) { s.list("").pets() }},
		{"4.1", "limit and status go together", limitAndStatus},
		{"4.1", "a pet that was added is listed", addedIsListed},
	}
	for _, status := range statuses {
		filter := "status=" + status + " returns "
		list = append(list,
			clause{"4.1", filter + status + " pets only", func(s *session) { s.filters(status) }},
			clause{"4.1", filter + "the one that was added", func(s *session) { s.finds(status) }},
		)
	}
	return append(list,
		clause{"4.1", "limit may be 1", func(s *session) { s.list("?limit=1").accepted() }},
		clause{"4.1", "limit may be 100", func(s *session) { s.list("?limit=100").accepted() }},
		clause{"4.1", "limit is the most that is returned", limitObeyed},
		clause{"4.1", "limit defaults to 20", limitDefault},
	)
}

// emptyIsArray asks for the pets of each status until one list is empty.
func emptyIsArray(s *session) {
	for _, status := range statuses {
		x := s.askPolitely(get("/pets?limit=1&status=" + status)) // not ask: it would remember this list
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

// limitObeyed also fails for a list that is shorter than its limit although there are more pets. A
// service may have shorter pages, but then its page for the largest limit is as short.
func limitObeyed(s *session) {
	most := s.filled()
	for _, limit := range []int{1, 2, defaultLimit, maxLimit} {
		list, x := s.pageAgain(fmt.Sprintf("?limit=%d", limit))
		if len(list) > limit || len(list) < min(limit, len(most)) {
			x.failf("limit is %d, and there are %d pets; limit=100 returns %d", limit, len(list), len(most))
		}
	}
}

// limitDefault compares the list without a limit to those with one.
func limitDefault(s *session) {
	most := s.filled()
	twenty, _ := s.pageAgain("?limit=20")
	plain, x := s.pageAgain("")
	switch {
	case len(plain) > defaultLimit:
		x.failf("the list without a limit has %d pets, more than %d", len(plain), defaultLimit)
	case len(most) <= defaultLimit:
		skipf("a list has %d pets at most, and more than %d are needed", len(most), defaultLimit)
	case len(plain) != len(twenty):
		x.failf("the list has %d pets without a limit, and %d with limit=20", len(plain), len(twenty))
	}
}

func limitAndStatus(s *session) {
	all, _ := s.page("?limit=100&status=sold")
	list, x := s.page("?limit=1&status=sold")
	if len(list) != min(1, len(all)) {
		x.failf("limit is 1, and there are %d pets; limit=100 returns %d", len(list), len(all))
	}
	x.wantAll(list, "sold")
}

// wantAll fails unless all pets have this status.
func (x *exchange) wantAll(list []object, status string) {
	for _, pet := range list {
		x.wantField(pet, "status", []byte(strconv.Quote(status)))
	}
}

func (s *session) filters(status string) {
	s.list("?limit=100&status=" + status).accepted()
	list, x := s.page("?limit=100&status=" + status)
	x.wantAll(list, status)
}

func (s *session) finds(status string) {
	pet := s.mine(status)
	if !same(pet["status"], []byte(strconv.Quote(status))) {
		skipf("the pet was not added with that status")
	}
	s.wantListed("?limit=100&status="+status, pet)
}

func addedIsListed(s *session) {
	for _, status := range added {
		s.wantListed("?limit=100", s.mine(status))
	}
}

// wantListed fails unless a list has a pet exactly once, as it was added. A missing pet is an error
// only if the list is complete. Pages may be shorter than the limit, so a list counts as complete
// only if its length is no likely size of a page.
func (s *session) wantListed(query string, want object) {
	list, x := s.page(query)
	found := 0
	for _, pet := range list {
		if pet.id() == want.id() {
			x.wantPet(pet, want)
		}
		if same(pet["name"], want["name"]) {
			found++
		}
	}
	const shortest = 10
	whole := len(list) < shortest || len(list) < maxLimit && len(list)%5 != 0
	switch {
	case found > 1:
		x.failf("the pet %s was added once, and there are %d of its name", want.id(), found)
	case found == 0 && !whole:
		skipf("the list has %d pets, and there may be more", len(list))
	case found == 0:
		x.failf("the pet %s is not in the list", want.id())
	}
}
