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
func (s *Server) Pet(id int64) (petstore.Pet, bool) { return s.catalogue.get(id) }

// Pets returns the whole catalogue by ascending id, without a request. It is never nil.
func (s *Server) Pets() []petstore.Pet {
	pets := make([]petstore.Pet, 0, s.catalogue.len())
	s.catalogue.list(query{limit: math.MaxInt}, func(p petstore.Pet) { pets = append(pets, p) })
	return pets
}

// SetStatus gives a pet another status, or none, and reports whether there is such a pet.
// The document lists no transitions (section 3), so every one is possible.
func (s *Server) SetStatus(id int64, status petstore.PetStatus) bool {
	return s.catalogue.setStatus(id, status)
}

// DeletePet takes a pet out of the catalogue and reports whether it was there. Its id is never
// given out again.
func (s *Server) DeletePet(id int64) bool { return s.catalogue.delete(id) }

// catalogue is the set of pets. Ids count up from 1 and are never given out twice, so that the pet
// of an id is found by its index, and ids tell in which order pets were added.
type catalogue struct {
	mu   sync.RWMutex
	pets []petstore.Pet               // pets[id-1]; the zero Pet where one was deleted
	ids  map[petstore.PetStatus]idSet // by status; those of all pets under anyStatus
	rng  *rand.Rand                   // needs mu held for writing
}

// anyStatus is the status of a query for all pets. No query asks for pets without a status.
const anyStatus petstore.PetStatus = ""

// idSet is a set of ids in ascending order. A pet that is added has the largest id, so that it goes
// to the end; only a change of status and a deletion move others, 8 MB of a million.
type idSet []int64

func (s idSet) with(id int64) idSet {
	i, _ := slices.BinarySearch(s, id)
	return slices.Insert(s, i, id)
}

func (s idSet) without(id int64) idSet {
	i, _ := slices.BinarySearch(s, id)
	return slices.Delete(s, i, i+1)
}

func (c *catalogue) reset(seed uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pets, c.ids = nil, make(map[petstore.PetStatus]idSet)
	c.rng = rand.New(rand.NewPCG(seed, 1))
}

// add stores a pet and returns it with its id.
func (c *catalogue) add(p petstore.NewPet) petstore.Pet {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := int64(len(c.pets) + 1)
	pet := petstore.Pet{ID: id, Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
	c.pets = append(c.pets, pet)
	c.ids[anyStatus] = c.ids[anyStatus].with(id)
	if p.Status != anyStatus {
		c.ids[p.Status] = c.ids[p.Status].with(id)
	}
	return pet
}

// find returns the pet of an id, nil if there is none. The caller holds mu.
func (c *catalogue) find(id int64) *petstore.Pet {
	if id < 1 || id > int64(len(c.pets)) || c.pets[id-1].ID == 0 {
		return nil
	}
	return &c.pets[id-1]
}

func (c *catalogue) get(id int64) (petstore.Pet, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	p := c.find(id)
	if p == nil {
		return petstore.Pet{}, false
	}
	return *p, true
}

func (c *catalogue) len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.ids[anyStatus])
}

func (c *catalogue) setStatus(id int64, status petstore.PetStatus) bool {
	return c.change(id, func(p *petstore.Pet) { p.Status = status })
}

func (c *catalogue) delete(id int64) bool {
	return c.change(id, func(p *petstore.Pet) {
		c.ids[anyStatus] = c.ids[anyStatus].without(id)
		*p = petstore.Pet{}
	})
}

// change calls f with the pet of an id, and reports whether there is one.
func (c *catalogue) change(id int64, f func(*petstore.Pet)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.find(id)
	if p == nil {
		return false
	}
	if p.Status != anyStatus {
		c.ids[p.Status] = c.ids[p.Status].without(id)
	}
	f(p)
	if p.Status != anyStatus {
		c.ids[p.Status] = c.ids[p.Status].with(id)
	}
	return true
}

// query selects pets.
type query struct {
	status petstore.PetStatus // or anyStatus
	limit  int
	order  Order
}

// list calls f with each pet that fits q, in its order. f must not call the store.
func (c *catalogue) list(q query, f func(petstore.Pet)) {
	if q.order == OrderShuffled {
		c.shuffled(q, f)
		return
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	ids := c.ids[q.status]
	n := min(q.limit, len(ids))
	if q.order == OrderDescending {
		for _, id := range slices.Backward(ids[len(ids)-n:]) {
			f(c.pets[id-1])
		}
		return
	}
	for _, id := range ids[:n] {
		f(c.pets[id-1])
	}
}

// shuffled calls f with pets that follow each other from a random one on, in random order.
func (c *catalogue) shuffled(q query, f func(petstore.Pet)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := c.ids[q.status]
	if len(ids) == 0 {
		return
	}
	start := c.rng.IntN(len(ids))
	for _, i := range c.rng.Perm(min(q.limit, len(ids))) {
		f(c.pets[ids[(start+i)%len(ids)]-1])
	}
}
