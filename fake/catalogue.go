package fake

import (
	"cmp"
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
	found = s.catalogue.with(id, func(i int) { pet = s.catalogue.pets[i] })
	return pet, found
}

// Pets returns the whole catalogue by ascending id, without a request. It is never nil.
func (s *Server) Pets() []petstore.Pet {
	return s.catalogue.list(query{limit: math.MaxInt})
}

// SetStatus gives a pet another status, or none, and reports whether there is such a pet.
// The document lists no transitions (section 3), so every one is possible.
func (s *Server) SetStatus(id int64, status petstore.PetStatus) bool {
	return s.catalogue.with(id, func(i int) { s.catalogue.pets[i].Status = status })
}

// DeletePet takes a pet out of the catalogue and reports whether it was there. Its id is never
// given out again.
func (s *Server) DeletePet(id int64) bool {
	c := &s.catalogue
	return c.with(id, func(i int) { c.pets = slices.Delete(c.pets, i, i+1) })
}

// catalogue is the set of pets. Ids count up from 1 and are never given out twice.
type catalogue struct {
	mu   sync.Mutex
	pets []petstore.Pet // by ascending id
	last int64          // the id that was given out last
	rng  *rand.Rand
}

func (c *catalogue) reset(seed uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pets, c.last = nil, 0
	c.rng = rand.New(rand.NewPCG(seed, 1))
}

func (c *catalogue) add(p petstore.NewPet) petstore.Pet {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	pet := petstore.Pet{ID: c.last, Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
	c.pets = append(c.pets, pet)
	return pet
}

// with calls f with the index of a pet in pets, and reports whether there is such a pet.
func (c *catalogue) with(id int64, f func(i int)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, found := slices.BinarySearchFunc(c.pets, id,
		func(p petstore.Pet, id int64) int { return cmp.Compare(p.ID, id) })
	if found {
		f(i)
	}
	return found
}

type query struct {
	status petstore.PetStatus // empty: all
	limit  int
	order  Order
}

// list returns the pets that fit q, in its order; never nil.
func (c *catalogue) list(q query) []petstore.Pet {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.pets)
	switch q.order {
	case OrderDescending:
		slices.Reverse(all)
	case OrderShuffled:
		c.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	pets := []petstore.Pet{}
	for i := 0; i < len(all) && len(pets) < q.limit; i++ {
		if q.status == "" || q.status == all[i].Status {
			pets = append(pets, all[i])
		}
	}
	return pets
}
