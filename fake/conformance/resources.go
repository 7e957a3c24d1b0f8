package conformance

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
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
		{"2", "Pet/id is an int64", everyAnimal("id", func(a animal) error {
			_, err := integer(a.fields["id"])
			return err
		})},
		{"2", "Pet/id is unique", uniqueIDs},
		{"2", "Pet/name is a string", everyAnimal("name", func(a animal) error {
			_, err := text(a.fields["name"])
			return err
		})},
		{"2", "Pet/categoryId is an int64", everyAnimal("categoryId", func(a animal) error {
			_, err := integer(a.fields["categoryId"])
			return err
		})},
		{"2", "Pet/status is a PetStatus if it is there", everyAnimal("status", petStatus)},
	}
}

// refuses is the clause that createPet returns 400 to bodies with invalid values. $name and
// $category stand for what would be valid.
func refuses(bodies ...string) func(*session) error {
	return func(s *session) error {
		fill := strings.NewReplacer("$name", quoted(s.petName("to be refused")),
			"$category", fmt.Sprint(s.target.CategoryID))
		for _, body := range bodies {
			x, err := s.refuse(fill.Replace(body))
			if err != nil {
				return err
			}
			if err := x.want(http.StatusBadRequest); err != nil {
				return err
			}
		}
		return nil
	}
}

// accepts is the clause that createPet takes a pet of a status, empty for none.
func accepts(status string) func(*session) error {
	return func(s *session) error {
		x, err := s.add(status)
		if err == nil && !x.success() {
			err = x.errorf("the animal must be accepted")
		}
		return err
	}
}

// largeCategory sends a category that a float64 cannot hold. A service that knows its categories
// may refuse it, for the document does not say which there are.
func largeCategory(s *session) error {
	x, err := s.addLarge()
	if err != nil {
		return err
	}
	if x.status == http.StatusBadRequest {
		return skip("there is no such category")
	}
	a, err := x.animal()
	if err != nil {
		return skipf("%v", err)
	}
	if got := string(a.fields["categoryId"]); got != fmt.Sprint(int64(math.MaxInt64)) {
		return x.errorf("the categoryId comes back as %s", show([]byte(got)))
	}
	return nil
}

// seen returns the pets of all responses that can be read: each that was added, the list, and the
// one that was fetched.
func (s *session) seen() ([]animal, error) {
	var animals []animal
	for _, status := range added {
		x, err := s.add(status)
		if err != nil {
			return nil, err
		}
		if a, err := x.animal(); err == nil {
			animals = append(animals, a)
		}
	}
	x, err := s.list("")
	if err != nil {
		return nil, err
	}
	if list, err := x.animals(); err == nil {
		animals = append(animals, list...)
	}
	if _, x, err := s.fetch(); err == nil {
		if a, err := x.animal(); err == nil {
			animals = append(animals, a)
		}
	}
	if len(animals) == 0 {
		return nil, skip("there is no animal to look at")
	}
	return animals, nil
}

// everyAnimal is the clause that a field is right in all pets.
func everyAnimal(field string, check func(animal) error) func(*session) error {
	return func(s *session) error {
		animals, err := s.seen()
		if err != nil {
			return err
		}
		for _, a := range animals {
			if err := check(a); err != nil {
				return a.from.errorf("%s of the animal %s: %v", field, a.id(), err)
			}
		}
		return nil
	}
}

func petStatus(a animal) error {
	raw, ok := a.fields["status"]
	if !ok {
		return nil
	}
	status, err := text(raw)
	if err == nil && !slices.Contains(statuses, status) {
		err = fmt.Errorf("%q is not in the enumeration", status)
	}
	return err
}

// uniqueIDs looks for an id that two pets share, among those added and within the list.
func uniqueIDs(s *session) error {
	owners := make(map[string]bool)
	for _, status := range added {
		x, err := s.add(status)
		if err != nil {
			return err
		}
		if a, err := x.animal(); err == nil {
			if owners[a.id()] {
				return x.errorf("the id %s was given to another animal before", a.id())
			}
			owners[a.id()] = true
		}
	}
	list, x, err := s.page("")
	if err != nil {
		return err
	}
	owners = make(map[string]bool)
	for _, a := range list {
		if owners[a.id()] {
			return x.errorf("the id %s is in the list twice", a.id())
		}
		owners[a.id()] = true
	}
	return nil
}
