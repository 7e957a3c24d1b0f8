package fake

import (
	"math/rand/v2"
	"slices"
	"sync"

	petstore "github.com/petstore/petstore-go"
)

// store is the catalogue. Ids count up from 1 and are never given out twice, so that the pet of an
// id is found by its index in rows, and an id says when it was added.
type store struct {
	mu     sync.RWMutex
	rows   []row // rows[id-1]
	all    idSet
	groups []group    // by status; a few, so that a loop over them beats a map
	rng    *rand.Rand // needs mu held for writing
}

// group is the set of pets of one status.
type group struct {
	status petstore.PetStatus
	ids    idSet
}

// row is a pet. It is 32 bytes on purpose: benchmarks keep a million of them.
type row struct {
	name     string
	category int64
	group    int // index in groups, or deleted
}

const deleted = -1

// idSet is a set of ids in ascending order. A pet that is added has the largest id, so that it goes
// to the end; only a change of status and a deletion move others, 8 MB of a million.
type idSet []int64

func (s *idSet) add(id int64) {
	i, _ := slices.BinarySearch(*s, id)
	*s = slices.Insert(*s, i, id)
}

func (s *idSet) remove(id int64) {
	i, _ := slices.BinarySearch(*s, id)
	*s = slices.Delete(*s, i, i+1)
}

func (t *store) reset(seed uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows, t.all, t.groups = nil, nil, nil
	t.rng = rand.New(rand.NewPCG(seed, 1))
}

// add stores a pet and returns it with its id.
func (t *store) add(p petstore.NewPet) petstore.Pet {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.group(p.Status)
	t.rows = append(t.rows, row{p.Name, p.CategoryID, g})
	id := int64(len(t.rows))
	t.all.add(id)
	t.groups[g].ids.add(id)
	return t.pet(id)
}

// group returns the index of the group of a status, and makes the group if there is none.
func (t *store) group(status petstore.PetStatus) int {
	i := slices.IndexFunc(t.groups, func(g group) bool { return g.status == status })
	if i < 0 {
		t.groups = append(t.groups, group{status: status})
		i = len(t.groups) - 1
	}
	return i
}

// has reports whether id is that of a pet in the catalogue.
func (t *store) has(id int64) bool {
	return id >= 1 && id <= int64(len(t.rows)) && t.rows[id-1].group != deleted
}

// pet returns the pet of an id that the store has.
func (t *store) pet(id int64) petstore.Pet {
	r := &t.rows[id-1]
	return petstore.Pet{
		ID: id, Name: r.name, CategoryID: r.category, Status: t.groups[r.group].status,
	}
}

func (t *store) get(id int64) (petstore.Pet, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if !t.has(id) {
		return petstore.Pet{}, false
	}
	return t.pet(id), true
}

func (t *store) len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.all)
}

func (t *store) setStatus(id int64, status petstore.PetStatus) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.has(id) {
		return false
	}
	r, g := &t.rows[id-1], t.group(status)
	if g != r.group {
		t.groups[r.group].ids.remove(id)
		t.groups[g].ids.add(id)
		r.group = g
	}
	return true
}

// delete leaves an empty row behind, so that the id is not given out again.
func (t *store) delete(id int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.has(id) {
		return false
	}
	t.all.remove(id)
	t.groups[t.rows[id-1].group].ids.remove(id)
	t.rows[id-1] = row{group: deleted}
	return true
}

// query is what listPets asks the store for.
type query struct {
	status petstore.PetStatus // empty: any
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
	ids := t.ids(q.status)
	n := min(q.limit, len(ids))
	if q.order == OrderDescending {
		for _, id := range slices.Backward(ids[len(ids)-n:]) {
			f(t.pet(id))
		}
		return
	}
	for _, id := range ids[:n] {
		f(t.pet(id))
	}
}

// shuffled calls f with pets that follow each other from a random one on, in random order.
func (t *store) shuffled(q query, f func(petstore.Pet)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := t.ids(q.status)
	if len(ids) == 0 {
		return
	}
	start := t.rng.IntN(len(ids))
	for _, i := range t.rng.Perm(min(q.limit, len(ids))) {
		f(t.pet(ids[(start+i)%len(ids)]))
	}
}

// ids returns the pets of a status, of any status if it is empty.
func (t *store) ids(status petstore.PetStatus) idSet {
	if status == "" {
		return t.all
	}
	for i := range t.groups {
		if t.groups[i].status == status {
			return t.groups[i].ids
		}
	}
	return nil
}
