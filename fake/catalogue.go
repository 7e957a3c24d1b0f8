package fake

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	petstore "github.com/petstore/petstore-go"
)

// AddPet puts a pet into the catalogue without a request, and returns it with its id. It takes
// pets that createPet refuses, too, such as one with a status that the document does not know.
func (s *Server) AddPet(p petstore.NewPet) petstore.Pet {
	if p.Status == "" {
		p.Status = s.config.behavior.DefaultStatus
	}
	return s.catalogue.add(p)
}

// Pet returns the pet of an id, without a request.
func (s *Server) Pet(id int64) (pet petstore.Pet, found bool) {
	found = s.catalogue.with(id, func(p *petstore.Pet) { pet = *p })
	return pet, found
}

// Pets returns the whole catalogue by ascending id, without a request. It is never nil.
func (s *Server) Pets() []petstore.Pet {
	return s.catalogue.list(query{limit: math.MaxInt})
}

// SetStatus gives a pet another status, or none, and reports whether there is such a pet.
// The document lists no transitions (section 3), so every one is possible.
func (s *Server) SetStatus(id int64, status petstore.PetStatus) bool {
	c := &s.catalogue
	return c.with(id, func(p *petstore.Pet) {
		c.unindex(*p)
		p.Status = status
		c.index(*p)
	})
}

// DeletePet takes a pet out of the catalogue and reports whether it was there. Its id is never
// given out again.
func (s *Server) DeletePet(id int64) bool {
	c := &s.catalogue
	return c.with(id, func(p *petstore.Pet) {
		c.unindex(*p)
		*p = petstore.Pet{}
	})
}

// catalogue is the set of pets. Ids count up from 1 and are never given out twice.
type catalogue struct {
	mu   sync.Mutex
	pets []petstore.Pet                 // by their ids; one that was deleted has the id 0
	ids  map[petstore.PetStatus][]int64 // of the pets of a status, and of all at the empty one; ascending
	rng  *rand.Rand
}

func (c *catalogue) reset(seed uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pets, c.ids = nil, make(map[petstore.PetStatus][]int64)
	c.rng = rand.New(rand.NewPCG(seed, 1))
}

func (c *catalogue) add(p petstore.NewPet) petstore.Pet {
	c.mu.Lock()
	defer c.mu.Unlock()
	pet := petstore.Pet{ID: int64(len(c.pets)) + 1, Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
	c.pets = append(c.pets, pet)
	c.index(pet)
	return pet
}

// index adds a pet to the ids of all, and to those of its status. The caller holds mu.
func (c *catalogue) index(p petstore.Pet) {
	for _, status := range slices.Compact([]petstore.PetStatus{"", p.Status}) {
		at, _ := slices.BinarySearch(c.ids[status], p.ID)
		c.ids[status] = slices.Insert(c.ids[status], at, p.ID)
	}
}

// unindex undoes index. The caller holds mu.
func (c *catalogue) unindex(p petstore.Pet) {
	for _, status := range slices.Compact([]petstore.PetStatus{"", p.Status}) {
		at, _ := slices.BinarySearch(c.ids[status], p.ID)
		c.ids[status] = slices.Delete(c.ids[status], at, at+1)
	}
}

// with calls f with a pet, and reports whether there is such a pet.
func (c *catalogue) with(id int64, f func(*petstore.Pet)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id < 1 || id > int64(len(c.pets)) || c.pets[id-1].ID == 0 {
		return false
	}
	f(&c.pets[id-1])
	return true
}

type query struct {
	status petstore.PetStatus // empty: all
	limit  int
	order  Order
}

// list returns the pets that fit q, in its order; never nil. It takes no longer for more pets than
// it returns: a program may list a catalogue of a million in a loop.
func (c *catalogue) list(q query) []petstore.Pet {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := c.ids[q.status]
	pets := make([]petstore.Pet, min(len(ids), q.limit))
	drawn := make(map[int]bool)
	for i := range pets {
		at := i
		switch q.order {
		case OrderDescending:
			at = len(ids) - 1 - i
		case OrderShuffled:
			for at = c.rng.IntN(len(ids)); drawn[at]; at = c.rng.IntN(len(ids)) { // limit is at most 100
			}
			drawn[at] = true
		}
		pets[i] = c.pets[ids[at]-1]
	}
	return pets
}
