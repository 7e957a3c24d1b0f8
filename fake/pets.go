package fake

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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
	pets []petstore.Pet                 // by their ids
	ids  map[petstore.PetStatus][]int64 // of the pets with a status; the empty status has all ids
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
	c.ids[""] = append(c.ids[""], pet.ID)
	if p.Status != "" {
		c.ids[p.Status] = append(c.ids[p.Status], pet.ID)
	}
	return pet
}

type query struct {
	status petstore.PetStatus // empty: all
	limit  int
	order  Order
}

// list returns the pets that fit q, in its order, and never nil. Its time depends on how many pets
// it returns, not on how many there are: a program may list a catalogue of a million in a loop.
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
			for at = c.rng.IntN(len(ids)); drawn[at]; at = c.rng.IntN(len(ids)) { // a list has at most 100 pets
			}
			drawn[at] = true
		}
		pets[i] = c.pets[ids[at]-1]
	}
	return pets
}

// petSize is a number of bytes that is enough for most Pet objects.
const petSize = 96

// appendPet appends a Pet object (section 2). It does not use the tags of petstore.Pet: if a tag
// were wrong, client and fake would agree on the mistake, and no test would see it.
func appendPet(b []byte, p petstore.Pet) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, p.ID, 10)
	b = append(b, `,"name":`...)
	b = appendString(b, p.Name)
	b = append(b, `,"categoryId":`...)
	b = strconv.AppendInt(b, p.CategoryID, 10)
	if p.Status != "" { // otherwise the field is left out
		b = append(b, `,"status":`...)
		b = appendString(b, string(p.Status))
	}
	return append(b, '}')
}

// appendString appends a string of JSON. What is not UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // an error only means that a part was not UTF-8
	return b
}

// parseNewPet reads a NewPet object (section 2). Fields that a NewPet does not have are ignored.
func parseNewPet(text []byte) (pet petstore.NewPet, err error) {
	var fields map[string]jsontext.Value
	err = json.Unmarshal(text, &fields)
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(bad, jsontext.ErrDuplicateName) {
			return pet, fmt.Errorf("the field %s is given twice", quote(bad.JSONPointer.LastToken()))
		}
		return pet, fmt.Errorf("the request body is not JSON: %v, at byte %d", bad.Err, bad.ByteOffset)
	}
	if k := jsontext.Value(text).Kind(); k != '{' {
		return pet, fmt.Errorf("the request body is %s; it must be an object", kinds[k])
	}
	err = cmp.Or(readField(fields, "name", '"', &pet.Name), readField(fields, "categoryId", '0', &pet.CategoryID))
	if fields["status"] != nil {
		err = cmp.Or(err, readField(fields, "status", '"', &pet.Status), checkStatus(pet.Status))
	}
	if err == nil && pet.Name == "" {
		err = errors.New("name is empty; it must be a non-empty string")
	}
	return pet, err
}

// readField reads a required field, a string or an integer.
func readField(fields map[string]jsontext.Value, name string, want jsontext.Kind, into any) error {
	value, found := fields[name]
	must := map[jsontext.Kind]string{'"': "a string", '0': "an integer"}[want]
	if !found {
		return fmt.Errorf("the required field %s is missing", name)
	}
	if k := value.Kind(); k != want {
		return fmt.Errorf("%s is %s; it must be %s", name, kinds[k], must)
	}
	err := json.Unmarshal(value, into)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s is %s; an int64 lies between %d and %d",
			name, clip(string(value)), int64(math.MinInt64), int64(math.MaxInt64))
	case err != nil:
		return fmt.Errorf("%s is %s; it must be %s without fraction or exponent", name, clip(string(value)), must)
	}
	return nil
}

// checkStatus returns an error if a status is none of the document (section 2).
func checkStatus(s petstore.PetStatus) error {
	if s == "available" || s == "pending" || s == "sold" {
		return nil
	}
	return fmt.Errorf("status is %s; it must be available, pending or sold", quote(string(s)))
}

var kinds = map[jsontext.Kind]string{
	'{': "an object", '[': "an array", '"': "a string", '0': "a number", 't': "a boolean", 'f': "a boolean", 'n': "null",
}

// clip shortens a part of a request for a message.
func clip(s string) string {
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:64], "") + "…"
	}
	return s
}

func quote(s string) string { return strconv.Quote(clip(s)) }
