package conformance

import (
	"fmt"
	"math"
	"time"

	petstore "github.com/petstore/petstore-go"
)

// The requests that clauses and probes share. Each is sent once, whichever clause comes first, so
// that a clause can run alone.

// The pets that a session adds: one of each status, and one without a status.
var (
	statuses = []string{"available", "pending", "sold"}
	added    = []string{"available", "pending", "sold", ""}
)

// validPet is a body that createPet must take.
const validPet = `{"name":$name,"categoryId":$category}`

// add adds the pet of a status.
func (s *session) add(status string) *exchange {
	if status == "" {
		return s.ask(create(validPet))
	}
	return s.ask(create(`{"name":$name,"categoryId":$category,"status":"` + status + `"}`))
}

// list calls listPets with a query, with pets in the catalogue. Other clauses check how these were
// added.
func (s *session) list(query string) *exchange {
	for _, status := range added {
		_ = attempt(func() { s.add(status) })
	}
	return s.ask(get("/pets" + query))
}

// page returns the pets of a list. It skips if the list cannot be read, which another clause
// checks.
func (s *session) page(query string) ([]object, *exchange) {
	x := s.list(query)
	return orSkip(x.pets), x
}

// unknownID is an int64 that is hardly the identifier of a pet.
const unknownID = int64(math.MaxInt64)

// fetchUnknown calls getPet for a pet that does not exist.
func (s *session) fetchUnknown() *exchange { return s.ask(get(fmt.Sprintf("/pets/%d", unknownID))) }

// mine returns the pet that was added with a status. It skips if that has no usable id.
func (s *session) mine(status string) object {
	pet := orSkip(s.add(status).pets)[0]
	if !is[int64](pet["id"]) {
		skipf("the pet that was added has no usable id: %q", pet.id())
	}
	return pet
}

// fetch calls getPet for the pet that was added first. It skips if getPet is gone on time.
func (s *session) fetch() *exchange {
	x := s.ask(get("/pets/" + s.mine(statuses[0]).id()))
	removal := time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC)
	if !x.success() && !x.date().Before(removal) {
		skipf("getPet was announced for removal on 5 December 2030, and that has passed")
	}
	return x
}

// operation is an operation of section 4, with a request that needs nothing but a key.
type operation struct {
	name    string
	request request
}

func operations() []operation {
	return []operation{
		{petstore.OpListPets, get("/pets")},
		{petstore.OpCreatePet, create(validPet)},
		{petstore.OpGetPet, get("/pets/1")},
	}
}

// samples makes sure that the log has a response of every kind: each success and each error of each
// operation.
func (s *session) samples() {
	s.list("")
	if err := attempt(func() { s.fetch() }); err != nil && !isSkip(err) {
		fail(err)
	}
	s.ask(create("{}"))
	s.fetchUnknown()
	for _, o := range operations() {
		s.ask(o.request.with(noKey))
	}
}
