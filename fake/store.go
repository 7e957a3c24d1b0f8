package fake

import (
	"math/rand/v2"
	"sync"

	petstore "github.com/petstore/petstore-go"
)

// store is the catalogue. Ids count up from 1 and are never given out twice, so that the animal of
// an id is found by its place in rows, and an id says when it was added.
type store struct {
	mu       sync.RWMutex
	rows     []row // rows[id-1]
	all      index
	statuses []status
	rng      *rand.Rand // under mu held for writing
}

// status is one status in use, with the ids of its animals.
type status struct {
	name petstore.PetStatus
	ids  index
}

// row is an animal. It is 32 bytes on purpose: a million of them are kept in benchmarks.
type row struct {
	name     string
	category int64
	status   int // place in statuses, or deleted
}

const deleted = -1

func (t *store) reset(seed uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows, t.all, t.statuses = nil, index{}, nil
	t.rng = rand.New(rand.NewPCG(seed, 1))
}

// add stores an animal and returns it with its id.
func (t *store) add(p petstore.NewPet) petstore.Pet {
	t.mu.Lock()
	defer t.mu.Unlock()
	st := t.status(p.Status)
	t.rows = append(t.rows, row{p.Name, p.CategoryID, st})
	id := len(t.rows)
	t.all.set(id)
	t.statuses[st].ids.set(id)
	return t.pet(int64(id))
}

// status returns the place of a status in statuses, and makes one if it is new. There are as many as
// a test can think of, which is few: a walk through them beats a map.
func (t *store) status(name petstore.PetStatus) int {
	for i := range t.statuses {
		if t.statuses[i].name == name {
			return i
		}
	}
	t.statuses = append(t.statuses, status{name: name})
	return len(t.statuses) - 1
}

// has reports whether id is that of an animal in the catalogue.
func (t *store) has(id int64) bool {
	return id >= 1 && id <= int64(len(t.rows)) && t.rows[id-1].status != deleted
}

// pet returns the animal of an id that the store has.
func (t *store) pet(id int64) petstore.Pet {
	r := &t.rows[id-1]
	return petstore.Pet{
		ID: id, Name: r.name, CategoryID: r.category, Status: t.statuses[r.status].name,
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

func (t *store) setStatus(id int64, name petstore.PetStatus) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.has(id) {
		return false
	}
	r := &t.rows[id-1]
	t.statuses[r.status].ids.clear(int(id))
	r.status = t.status(name)
	t.statuses[r.status].ids.set(int(id))
	return true
}

// delete leaves an empty row behind, so that the id is not given out again.
func (t *store) delete(id int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.has(id) {
		return false
	}
	t.all.clear(int(id))
	t.statuses[t.rows[id-1].status].ids.clear(int(id))
	t.rows[id-1] = row{status: deleted}
	return true
}

// query is what listPets asks of the store.
type query struct {
	status petstore.PetStatus // empty: any
	limit  int
	order  Order
}

// list appends the animals that fit q to dst.
func (t *store) list(dst []petstore.Pet, q query) []petstore.Pet {
	start := 0
	if q.order == OrderShuffled {
		start = t.random()
	}
	t.mu.RLock()
	ids := t.ids(q.status)
	switch {
	case ids == nil:
	case q.order == OrderDescending:
		for id := ids.prev(len(t.rows)); id >= 0 && len(dst) < q.limit; id = ids.prev(id - 1) {
			dst = append(dst, t.pet(int64(id)))
		}
	default:
		dst = t.ascending(dst, ids, start, len(t.rows), q.limit)
		dst = t.ascending(dst, ids, 0, start-1, q.limit)
	}
	t.mu.RUnlock()
	if q.order == OrderShuffled {
		t.shuffle(dst)
	}
	return dst
}

// ids returns the set of animals of a status, nil if there never was one.
func (t *store) ids(name petstore.PetStatus) *index {
	if name == "" {
		return &t.all
	}
	for i := range t.statuses {
		if t.statuses[i].name == name {
			return &t.statuses[i].ids
		}
	}
	return nil
}

// ascending appends the animals of ids from one id to another, as long as dst is below limit.
func (t *store) ascending(dst []petstore.Pet, ids *index, from, to, limit int) []petstore.Pet {
	for id := ids.next(from); id >= 0 && id <= to && len(dst) < limit; id = ids.next(id + 1) {
		dst = append(dst, t.pet(int64(id)))
	}
	return dst
}

// random returns an id to start a shuffled page at.
func (t *store) random() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rng.IntN(len(t.rows) + 1)
}

func (t *store) shuffle(pets []petstore.Pet) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rng.Shuffle(len(pets), func(i, j int) { pets[i], pets[j] = pets[j], pets[i] })
}
