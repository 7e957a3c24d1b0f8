package fake

import (
	"math/rand/v2"
	"slices"
	"sync"

	petstore "github.com/petstore/petstore-go"
)

// store is the catalogue. Ids count up from 1 and are never given out twice, so that the pet of an
// id is found by its index, and an id says when it was added.
type store struct {
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

func (t *store) reset(seed uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pets, t.ids = nil, make(map[petstore.PetStatus]idSet)
	t.rng = rand.New(rand.NewPCG(seed, 1))
}

// add stores a pet and returns it with its id.
func (t *store) add(p petstore.NewPet) petstore.Pet {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := int64(len(t.pets) + 1)
	pet := petstore.Pet{ID: id, Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
	t.pets = append(t.pets, pet)
	t.ids[anyStatus] = t.ids[anyStatus].with(id)
	t.enlist(&pet)
	return pet
}

// enlist adds a pet to those of its status.
func (t *store) enlist(p *petstore.Pet) {
	if p.Status != anyStatus {
		t.ids[p.Status] = t.ids[p.Status].with(p.ID)
	}
}

// delist is the opposite of enlist.
func (t *store) delist(p *petstore.Pet) {
	if p.Status != anyStatus {
		t.ids[p.Status] = t.ids[p.Status].without(p.ID)
	}
}

// find returns the pet of an id, nil if there is none. The caller holds mu.
func (t *store) find(id int64) *petstore.Pet {
	if id < 1 || id > int64(len(t.pets)) || t.pets[id-1].ID == 0 {
		return nil
	}
	return &t.pets[id-1]
}

func (t *store) get(id int64) (petstore.Pet, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p := t.find(id)
	if p == nil {
		return petstore.Pet{}, false
	}
	return *p, true
}

func (t *store) len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.ids[anyStatus])
}

func (t *store) setStatus(id int64, status petstore.PetStatus) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.find(id)
	if p == nil {
		return false
	}
	t.delist(p)
	p.Status = status
	t.enlist(p)
	return true
}

func (t *store) delete(id int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.find(id)
	if p == nil {
		return false
	}
	t.delist(p)
	t.ids[anyStatus] = t.ids[anyStatus].without(id)
	*p = petstore.Pet{}
	return true
}

// query selects pets.
type query struct {
	status petstore.PetStatus // or anyStatus
	limit  int
	order  Order
}

// list calls f with each pet that fits q, in its order. f must not call the store.
func (t *store) list(q query, f func(petstore.Pet)) {
	if q.order == OrderShuffled {
		t.shuffled(q, f)
		return
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	ids := t.ids[q.status]
	n := min(q.limit, len(ids))
	if q.order == OrderDescending {
		for _, id := range slices.Backward(ids[len(ids)-n:]) {
			f(t.pets[id-1])
		}
		return
	}
	for _, id := range ids[:n] {
		f(t.pets[id-1])
	}
}

// shuffled calls f with pets that follow each other from a random one on, in random order.
func (t *store) shuffled(q query, f func(petstore.Pet)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := t.ids[q.status]
	if len(ids) == 0 {
		return
	}
	start := t.rng.IntN(len(ids))
	for _, i := range t.rng.Perm(min(q.limit, len(ids))) {
		f(t.pets[ids[(start+i)%len(ids)]-1])
	}
}
