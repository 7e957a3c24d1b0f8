package fake

import (
	"math"

	petstore "github.com/petstore/petstore-go"
)

// AddPet puts a pet into the catalogue without a request, and returns it with its id. It takes
// pets that createPet refuses, too, such as one with a status that the document does not know.
func (s *Server) AddPet(p petstore.NewPet) petstore.Pet {
	if p.Status == "" {
		p.Status = s.config.behavior.DefaultStatus
	}
	return s.store.add(p)
}

// Pet returns the pet of an id, without a request.
func (s *Server) Pet(id int64) (petstore.Pet, bool) { return s.store.get(id) }

// Pets returns the whole catalogue by ascending id, without a request. It is never nil.
func (s *Server) Pets() []petstore.Pet {
	pets := make([]petstore.Pet, 0, s.store.len())
	s.store.list(query{limit: math.MaxInt}, func(p petstore.Pet) { pets = append(pets, p) })
	return pets
}

// SetStatus gives a pet another status, or none, and reports whether there is such a pet.
// The document lists no transitions (section 3), so every one is possible.
func (s *Server) SetStatus(id int64, status petstore.PetStatus) bool {
	return s.store.setStatus(id, status)
}

// DeletePet takes a pet out of the catalogue and reports whether it was there. Its id is never
// given out again.
func (s *Server) DeletePet(id int64) bool { return s.store.delete(id) }
