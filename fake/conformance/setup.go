package conformance

import (
	"fmt"
	"math"
	"strconv"
	"strings"
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

// validPet is a body that createPet must take; see newPet.
const validPet = `{"name":$name,"categoryId":$category}`

// newPet returns a createPet with a body, in which $name and $category stand for what is valid.
func (s *session) newPet(what, body string) request {
	name, category := strconv.Quote(s.tag+": "+what), fmt.Sprint(s.target.CategoryID)
	return post(strings.NewReplacer("$name", name, "$category", category).Replace(body))
}

// offer sends createPet a body; see newPet.
func (s *session) offer(what, body string) *exchange { return s.ask(s.newPet(what, body)) }

// add adds the pet of a status.
func (s *session) add(status string) *exchange {
	if status == "" {
		return s.offer("no status", validPet)
	}
	return s.offer(status, `{"name":$name,"categoryId":$category,"status":"`+status+`"}`)
}

func adding(status string) func(*session) *exchange {
	return func(s *session) *exchange { return s.add(status) }
}

// populate adds all pets. Other clauses check the responses.
func (s *session) populate() {
	for _, status := range added {
		_, _ = attempt(func() *exchange { return s.add(status) })
	}
}

// list calls listPets, with pets in the catalogue.
func (s *session) list(query string) *exchange {
	s.populate()
	if query != "" {
		query = "?" + query
	}
	return s.ask(get("/pets" + query))
}

func listing(query string) func(*session) *exchange {
	return func(s *session) *exchange { return s.list(query) }
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
	pet := orSkip(s.add(status).pet)
	if _, err := read[int64](pet["id"]); err != nil {
		skipf("the pet that was added has no usable id: %v", err)
	}
	return pet
}

// fetch calls getPet for the pet that was added first, and returns that pet too. It skips if getPet
// is gone on time.
func (s *session) fetch() (object, *exchange) {
	pet := s.mine(statuses[0])
	x := s.ask(get("/pets/" + pet.id()))
	removal := time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC)
	if !x.success() && !x.date().Before(removal) {
		skipf("getPet was announced for removal on 5 December 2030, and that has passed")
	}
	return pet, x
}

// operations returns the names of the operations (section 4).
func operations() []string {
	return []string{petstore.OpListPets, petstore.OpCreatePet, petstore.OpGetPet}
}

// operation calls an operation in a way that needs nothing but a key.
func (s *session) operation(name, auth string) *exchange {
	r := map[string]request{
		petstore.OpListPets:  get("/pets"),
		petstore.OpCreatePet: s.newPet("without a key", validPet),
		petstore.OpGetPet:    get("/pets/1"),
	}[name]
	r.auth = auth
	return s.ask(r)
}

// samples makes sure that the log has a response of every kind: each success and each error of each
// operation.
func (s *session) samples() {
	s.list("")
	_, err := attempt(func() *exchange { return fetching(s) })
	if err != nil && !isSkip(err) {
		fail(err)
	}
	s.ask(post("{}"))
	s.fetchUnknown()
	for _, name := range operations() {
		s.operation(name, noKey)
	}
}
