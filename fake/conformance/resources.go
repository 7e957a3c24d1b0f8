package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
)

// resourceClauses are those of section 2.
func resourceClauses() []clause {
	return slices.Concat(newPetClauses(), petClauses())
}

// newPetClauses are about what createPet takes and refuses.
func newPetClauses() []clause {
	return []clause{
		{"2", "NewPet/name is required", refuses(`{"categoryId":$category}`)},
		{"2", "NewPet/name is a string", refuses(`{"name":7,"categoryId":$category}`)},
		{"2", "NewPet/categoryId is required", refuses(`{"name":$name}`)},
		{"2", "NewPet/categoryId is an integer", refuses(
			`{"name":$name,"categoryId":"$category"}`, `{"name":$name,"categoryId":1.5}`)},
		{"2", "NewPet/categoryId is an int64", refuses(`{"name":$name,"categoryId":9223372036854775808}`)},
		{"2", "NewPet/categoryId keeps all 64 bits", largeCategory},
		{"2", "NewPet/status is optional", accepts("")},
		{"2", "NewPet/status may be available", accepts("available")},
		{"2", "NewPet/status may be pending", accepts("pending")},
		{"2", "NewPet/status may be sold", accepts("sold")},
		{"2", "NewPet/status is a PetStatus", refuses(
			`{"name":$name,"categoryId":$category,"status":"lost"}`,
			`{"name":$name,"categoryId":$category,"status":7}`)},
	}
}

// petClauses are about a pet in any response.
func petClauses() []clause {
	return []clause{
		{"2", "Pet/id is an int64", everyPet("id", isInteger)},
		{"2", "Pet/id is unique", uniqueIDs},
		{"2", "Pet/name is a string", everyPet("name", isText)},
		{"2", "Pet/categoryId is an int64", everyPet("categoryId", isInteger)},
		{"2", "Pet/status is a PetStatus if it is there", everyPet("status", isPetStatus)},
	}
}

// refuses is the clause that createPet returns 400 to bodies with invalid values. $name and
// $category stand for what would be valid.
func refuses(bodies ...string) func(*session) {
	return func(s *session) {
		for _, body := range bodies {
			s.offer(s.petName("to be refused"), body, mediaJSON).want(http.StatusBadRequest)
		}
	}
}

// accepts is the clause that createPet takes a pet of a status, empty for none.
func accepts(status string) func(*session) {
	return func(s *session) {
		if x := s.add(status); !x.success() {
			x.failf("the pet must be accepted")
		}
	}
}

// largeCategory sends a category that a float64 cannot hold. A service that knows its categories
// may refuse it, since the document does not say which there are.
func largeCategory(s *session) {
	body := fmt.Sprintf(`{"name":$name,"categoryId":%d}`, int64(math.MaxInt64))
	x := s.offer(s.petName("large"), body, mediaJSON)
	if x.status == http.StatusBadRequest {
		skipf("there is no such category")
	}
	got := string(orSkip(x.pet).fields["categoryId"])
	if got != strconv.FormatInt(math.MaxInt64, 10) {
		x.failf("the categoryId comes back as %s", show([]byte(got)))
	}
}

// created returns the pets that were added, as far as they can be read.
func (s *session) created() []pet {
	var pets []pet
	for _, status := range added {
		if p, ok := readable(s.add(status).pet); ok {
			pets = append(pets, p)
		}
	}
	return pets
}

// seen returns the pets of all responses that can be read: each that was added, the list, and the
// one that was fetched.
func (s *session) seen() []pet {
	pets := s.created()
	list, _ := readable(s.list("").pets)
	pets = append(pets, list...)
	if p, ok := readable(func() pet { _, x := s.fetch(); return x.pet() }); ok {
		pets = append(pets, p)
	}
	if len(pets) == 0 {
		skipf("there is no pet to look at")
	}
	return pets
}

// everyPet is the clause that a field is right in all pets.
func everyPet(field string, check func(json.RawMessage, *exchange) error) func(*session) {
	return func(s *session) {
		for _, p := range s.seen() {
			if err := check(p.fields[field], p.from); err != nil {
				p.from.failf("%s of the pet %s: %v", field, p.id(), err)
			}
		}
	}
}

func isPetStatus(raw json.RawMessage, _ *exchange) error {
	if raw == nil {
		return nil
	}
	status, err := text(raw)
	if err == nil && !slices.Contains(statuses, status) {
		err = fmt.Errorf("%q is not in the enumeration", status)
	}
	return err
}

// uniqueIDs looks for an id that two pets share, among those added and within the list.
func uniqueIDs(s *session) {
	wantDistinct(s.created(), "was given to another pet before")
	list, _ := s.page("")
	wantDistinct(list, "is in the list twice")
}

func wantDistinct(pets []pet, failure string) {
	seen := make(map[string]bool)
	for _, p := range pets {
		if seen[p.id()] {
			p.from.failf("the id %s %s", p.id(), failure)
		}
		seen[p.id()] = true
	}
}
