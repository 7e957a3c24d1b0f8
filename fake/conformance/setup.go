package conformance

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// The requests that clauses share. Each is sent once, whichever clause comes first, so that a
// clause can run alone.

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

// list adds the session's pets, and then calls listPets with a query. Other clauses check the
// adding.
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

// filled returns the longest list. If the catalogue is small, it first adds pets until there are
// more than a list without a limit shows.
func (s *session) filled() []object {
	few, _ := s.page("?limit=100")
	for i := len(few); i <= defaultLimit; i++ {
		_ = attempt(func() { s.ask(create(validPet).again(i)) })
	}
	most, _ := s.pageAgain("?limit=100")
	return most
}

// pageAgain is like page, but does not take a list that was remembered before the catalogue was
// filled.
func (s *session) pageAgain(query string) ([]object, *exchange) {
	x := s.ask(get("/pets" + query).again(1))
	return orSkip(x.pets), x
}

// unknownID is an int64 that is hardly the identifier of a pet.
const unknownID = int64(math.MaxInt64)

// fetchUnknown calls getPet for a pet that does not exist.
func (s *session) fetchUnknown() *exchange { return s.ask(get(fmt.Sprintf("/pets/%d", unknownID))) }

// mine returns the pet that was added with a status. It skips if that has no usable id.
func (s *session) mine(status string) object {
	pet := orSkip(s.add(status).pet)
	if !is[int64](pet["id"]) {
		skipf("the pet that was added has no usable id: %q", pet.id())
	}
	return pet
}

// fetch calls getPet for the pet that was added with a status. It skips if getPet was removed as
// announced.
func (s *session) fetch(status string) *exchange {
	x := s.ask(get("/pets/" + s.mine(status).id()))
	removal := time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC)
	if !x.success() && !x.date().Before(removal) {
		skipf("getPet was announced for removal on 5 December 2030, and that has passed")
	}
	return x
}

// call returns a request for an operation, complete but perhaps for the key. The request is about a
// pet of this session or about none, because an operation could change somebody else's pet.
func (s *session) call(o fake.Operation) request {
	id := fmt.Sprint(unknownID)
	_ = attempt(func() { id = s.mine(statuses[0]).id() })
	r := request{method: o.Method, path: strings.ReplaceAll(o.Path, "{petId}", id), auth: validKey}
	if o.Method != http.MethodGet && o.Method != http.MethodDelete {
		r.body = validPet
	}
	return r
}

// samples calls the samples of all operations, and each operation without a key.
func (s *session) samples() {
	for _, o := range operations {
		if err := attempt(func() { o.sample(s) }); err != nil && !isSkip(err) {
			fail(err)
		}
	}
	for _, o := range fake.Operations() {
		s.ask(s.call(o).with(noKey))
	}
}
