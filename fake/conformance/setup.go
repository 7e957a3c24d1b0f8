package conformance

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// What clauses need before they can look at something. Every request is asked once, whichever
// clause comes first, so that a clause can run alone.

// The pets that a session adds: one of each status, and one without a status.
var (
	statuses = []string{"available", "pending", "sold"}
	added    = []string{"available", "pending", "sold", ""}
)

// petName is the name of a pet that the session adds.
func (s *session) petName(what string) string { return s.tag + ": " + what }

// newPet writes a NewPet object; an empty status is left out.
func (s *session) newPet(name, status string) string {
	body := `{"name":` + quoted(name) + `,"categoryId":` + strconv.FormatInt(s.target.CategoryID, 10)
	if status != "" {
		body += `,"status":` + quoted(status)
	}
	return body + "}"
}

// add adds the pet of a status.
func (s *session) add(status string) (*exchange, error) {
	name := s.petName("no status")
	if status != "" {
		name = s.petName(status)
	}
	return s.ask(post(s.newPet(name, status)))
}

// addLarge adds the pet of the largest category that an int64 can hold.
func (s *session) addLarge() (*exchange, error) {
	name := quoted(s.petName("large"))
	return s.ask(post(fmt.Sprintf(`{"name":%s,"categoryId":%d}`, name, int64(math.MaxInt64))))
}

// populate adds all pets. What the service says to that is judged elsewhere.
func (s *session) populate() {
	for _, status := range added {
		_, _ = s.add(status)
	}
}

// list asks listPets, with pets in the catalogue.
func (s *session) list(query string) (*exchange, error) {
	s.populate()
	return s.ask(listing(query))
}

func listing(query string) request {
	if query == "" {
		return get("/pets")
	}
	return get("/pets?" + query)
}

// page is a list that can be read; if it cannot, that is another clause's business.
func (s *session) page(query string) ([]animal, *exchange, error) {
	x, err := s.list(query)
	if err != nil {
		return nil, nil, err
	}
	animals, err := x.animals()
	if err != nil {
		return nil, x, skipf("%v", err)
	}
	return animals, x, nil
}

// unknownID is an identifier that no pet is likely to have, and an int64.
const unknownID = int64(math.MaxInt64)

// fetchUnknown asks getPet for a pet that there is not.
func (s *session) fetchUnknown() (*exchange, error) {
	return s.ask(get(fmt.Sprintf("/pets/%d", unknownID)))
}

// mine returns the pet that was added with a status, with an id that can be used.
func (s *session) mine(status string) (animal, error) {
	x, err := s.add(status)
	if err != nil {
		return animal{}, err
	}
	a, err := x.animal()
	if err != nil {
		return animal{}, skipf("%v", err)
	}
	if _, err := integer(a.fields["id"]); err != nil {
		return animal{}, skipf("the animal added has no id to go by: %v", err)
	}
	return a, nil
}

// fetch asks getPet for the pet that was added first, and returns that pet too.
func (s *session) fetch() (animal, *exchange, error) {
	a, err := s.mine(statuses[0])
	if err != nil {
		return animal{}, nil, err
	}
	x, err := s.ask(get("/pets/" + a.id()))
	if err == nil && !x.success() && removed(x) {
		return a, nil, skip("getPet was announced for removal on 5 December 2030, and that has passed")
	}
	return a, x, err
}

// removed reports whether a response comes from after the announced removal of getPet.
func removed(x *exchange) bool {
	return !x.date().Before(time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC))
}

// refuse sends createPet a body that it must not take.
func (s *session) refuse(body string) (*exchange, error) { return s.ask(post(body)) }

// incomplete sends createPet an object without any field.
func (s *session) incomplete() (*exchange, error) { return s.refuse("{}") }

// operation is one of the three, as a request that needs nothing but a key.
type operation struct {
	name    string
	request request
}

func (s *session) operations() []operation {
	return []operation{
		{"listPets", get("/pets")},
		{"createPet", post(s.newPet(s.petName("without a key"), ""))},
		{"getPet", get("/pets/1")},
	}
}

// withoutKey sends a request without a valid key.
func (s *session) withoutKey(r request, auth credential) (*exchange, error) {
	r.auth = auth
	return s.ask(r)
}

// samples makes sure that the log has a response of every kind: each success and each error of each
// operation.
func (s *session) samples() error {
	s.populate()
	if _, err := s.list(""); err != nil {
		return err
	}
	if _, _, err := s.fetch(); err != nil && !isSkipped(err) {
		return err
	}
	if _, err := s.incomplete(); err != nil {
		return err
	}
	if _, err := s.fetchUnknown(); err != nil {
		return err
	}
	for _, op := range s.operations() {
		if _, err := s.withoutKey(op.request, noKey); err != nil {
			return err
		}
	}
	return nil
}

func isSkipped(err error) bool {
	_, ok := isSkip(err)
	return ok
}
