package fake

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	petstore "github.com/petstore/petstore-go"
)

// AddPet puts a pet into the catalogue without a request, and returns it with its id. It also takes
// pets that createPet refuses, such as one with an unknown status.
func (s *Server) AddPet(p petstore.NewPet) petstore.Pet {
	if p.Status == "" {
		p.Status = s.config.behavior.DefaultStatus
	}
	return s.catalogue.add(p)
}

// Pet returns the pet with an id, without a request.
func (s *Server) Pet(id int64) (pet petstore.Pet, found bool) {
	c := &s.catalogue
	c.mu.Lock()
	defer c.mu.Unlock()
	if id < 1 || id > int64(len(c.pets)) {
		return pet, false
	}
	return c.pets[id-1], true
}

// Pets returns the whole catalogue by ascending id, without a request. It is never nil.
func (s *Server) Pets() []petstore.Pet { return s.catalogue.list(query{limit: math.MaxInt}) }

// catalogue is the set of pets, whose ids count up from 1.
type catalogue struct {
	mu   sync.Mutex
	pets []petstore.Pet // by their ids
	rng  *rand.Rand
}

func (c *catalogue) reset(seed uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pets = nil
	c.rng = rand.New(rand.NewPCG(seed, 1))
}

func (c *catalogue) add(p petstore.NewPet) petstore.Pet {
	c.mu.Lock()
	defer c.mu.Unlock()
	pet := petstore.Pet{ID: int64(len(c.pets)) + 1, Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
	c.pets = append(c.pets, pet)
	return pet
}

type query struct {
	status petstore.PetStatus // empty: all
	limit  int
	order  Order
}

// list returns the pets that fit q, in the order of q, and never nil.
func (c *catalogue) list(q query) []petstore.Pet {
	c.mu.Lock()
	defer c.mu.Unlock()
	pets := []petstore.Pet{}
	for _, p := range c.pets {
		if q.status == "" || p.Status == q.status {
			pets = append(pets, p)
		}
		if q.order == "" && len(pets) == q.limit {
			break
		}
	}
	switch q.order {
	case OrderDescending:
		slices.Reverse(pets)
	case OrderShuffled:
		c.rng.Shuffle(len(pets), func(i, j int) { pets[i], pets[j] = pets[j], pets[i] })
	}
	return pets[:min(len(pets), q.limit)]
}

// wirePet is a Pet object (section 2). If client and fake shared a type, no test would notice a
// wrong tag.
type wirePet struct {
	ID         int64              `json:"id"`
	Name       string             `json:"name"`
	CategoryID int64              `json:"categoryId"`
	Status     petstore.PetStatus `json:"status,omitzero"`
}

// parseNewPet reads a NewPet object (section 2). Fields that a NewPet does not have are ignored.
func parseNewPet(text []byte) (pet petstore.NewPet, err error) {
	const none = "\x00" // stands for a missing status; null becomes the empty status
	fields := struct {
		Name       string             `json:"name"`
		CategoryID *int64             `json:"categoryId"`
		Status     petstore.PetStatus `json:"status"`
	}{Status: none}
	err = json.Unmarshal(text, &fields)
	wrong, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case ok:
		what := cmp.Or(wrong.JSONPointer.LastToken(), "the request body")
		return pet, fmt.Errorf("%s has the wrong type; a NewPet is an object in which name and status"+
			" are strings, and categoryId is an integer of 64 bits", what)
	case err != nil:
		return pet, fmt.Errorf("the request body is not JSON: %w", err)
	case fields.Name == "":
		return pet, errors.New("the required field name is missing or empty")
	case fields.CategoryID == nil:
		return pet, errors.New("the required field categoryId is missing")
	case fields.Status != none:
		pet.Status, err = fields.Status, checkStatus(fields.Status)
	}
	pet.Name, pet.CategoryID = fields.Name, *fields.CategoryID
	return pet, err
}

// checkStatus returns an error for a status that the document does not have (section 2).
func checkStatus(s petstore.PetStatus) error {
	if s == "available" || s == "pending" || s == "sold" {
		return nil
	}
	return fmt.Errorf("status is %s; it must be available, pending or sold", quote(string(s)))
}

// quote quotes a part of a request for a message, and shortens it.
func quote(s string) string {
	if len(s) > 64 {
		s = strings.ToValidUTF8(s[:64], "") + "…"
	}
	return strconv.Quote(s)
}
