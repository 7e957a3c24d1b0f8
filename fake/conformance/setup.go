package conformance

import (
	"fmt"
	"math"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// The requests that clauses and probes share. Each is sent once, whichever clause comes first, so
// that a clause can run alone.

// The pets that a session adds: one of each status, and one without a status.
var (
	statuses = []string{"available", "pending", "sold"}
	added    = []string{"available", "pending", "sold", ""}
)

// petName is the name of a pet that the session adds.
func (s *session) petName(what string) string { return s.tag + ": " + what }

// newPet writes a NewPet object; an empty status is left out.
func (s *session) newPet(name, status string) string {
	if status != "" {
		status = `,"status":` + quoted(status)
	}
	return fmt.Sprintf(`{"name":%s,"categoryId":%d%s}`, quoted(name), s.target.CategoryID, status)
}

// add adds the pet of a status.
func (s *session) add(status string) *exchange {
	name := "no status"
	if status != "" {
		name = status
	}
	return s.ask(post(s.newPet(s.petName(name), status)))
}

// populate adds all pets. Other clauses check the responses.
func (s *session) populate() {
	for _, status := range added {
		_ = attempt(func() { s.add(status) })
	}
}

// list calls listPets, with pets in the catalogue.
func (s *session) list(query string) *exchange {
	s.populate()
	return s.askAgain(query, "")
}

// askAgain calls listPets without adding pets, once for each round.
func (s *session) askAgain(query, round string) *exchange {
	r := get("/pets")
	if query != "" {
		r.path += "?" + query
	}
	r.round = round
	return s.ask(r)
}

// page returns the pets of a list. It skips if the list cannot be read, which another clause
// checks.
func (s *session) page(query string) ([]pet, *exchange) {
	x := s.list(query)
	return orSkip(x.pets), x
}

// unknownID is an int64 that is hardly the identifier of a pet.
const unknownID = int64(math.MaxInt64)

// fetchUnknown calls getPet for a pet that does not exist.
func (s *session) fetchUnknown() *exchange { return s.ask(get(fmt.Sprintf("/pets/%d", unknownID))) }

// mine returns the pet that was added with a status. It skips if that has no usable id.
func (s *session) mine(status string) pet {
	p := orSkip(s.add(status).pet)
	if _, err := integer(p.fields["id"]); err != nil {
		skipf("the pet that was added has no usable id: %v", err)
	}
	return p
}

// fetch calls getPet for the pet that was added first, and returns that pet too. It skips if getPet
// is gone on time.
func (s *session) fetch() (pet, *exchange) {
	p, x := s.fetchAnyway()
	if !x.success() && removed(x) {
		skipf("getPet was announced for removal on 5 December 2030, and that has passed")
	}
	return p, x
}

// fetchAnyway is fetch, removed or not.
func (s *session) fetchAnyway() (pet, *exchange) {
	p := s.mine(statuses[0])
	return p, s.ask(get("/pets/" + p.id()))
}

// removed reports whether a response comes from after the announced removal of getPet.
func removed(x *exchange) bool {
	return !x.date().Before(time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC))
}

// operations returns a request of each operation that needs nothing but a key.
func (s *session) operations() map[string]request {
	return map[string]request{
		petstore.OpListPets:  get("/pets"),
		petstore.OpCreatePet: post(s.newPet(s.petName("without a key"), "")),
		petstore.OpGetPet:    get("/pets/1"),
	}
}

// withoutKey sends a request without a valid key.
func (s *session) withoutKey(r request, auth credential) *exchange {
	r.auth = auth
	return s.ask(r)
}

// samples makes sure that the log has a response of every kind: each success and each error of each
// operation.
func (s *session) samples() {
	s.list("")
	if err := attempt(func() { s.fetch() }); err != nil && !isSkip(err) {
		fail(err)
	}
	s.ask(post("{}"))
	s.fetchUnknown()
	for _, name := range fakecontrol.Operations() {
		r := s.operations()[name]
		s.withoutKey(r, noKey)
	}
}
