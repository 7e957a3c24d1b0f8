package fake

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	petstore "github.com/petstore/petstore-go"
)

// AddPet puts a pet into the catalogue without a request, and returns it with its id. It also takes
// pets that createPet refuses, such as one with an unknown status.
func (s *Server) AddPet(p petstore.NewPet) petstore.Pet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addPet(p)
}

// addPet is AddPet for a caller that holds mu.
func (s *Server) addPet(p petstore.NewPet) petstore.Pet {
	pet := petstore.Pet{ID: int64(len(s.pets)) + 1, Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
	pet.Status = cmp.Or(pet.Status, s.config.behavior.DefaultStatus)
	s.pets = append(s.pets, pet)
	return pet
}

// Pet returns the pet with an id, without a request.
func (s *Server) Pet(id int64) (pet petstore.Pet, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id < 1 || id > int64(len(s.pets)) {
		return pet, false
	}
	return s.pets[id-1], true
}

// Pets returns the whole catalogue by ascending id, without a request. It is never nil.
func (s *Server) Pets() []petstore.Pet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]petstore.Pet{}, s.pets...)
}

// listPets returns up to limit pets of a status, or of any if it is empty, in the chosen order.
func (s *Server) listPets(limit int, status petstore.PetStatus) []wirePet {
	s.mu.Lock()
	defer s.mu.Unlock()
	order, pets := s.config.behavior.Order, []wirePet{} // an empty list is no null
	for _, p := range s.pets {
		if status == "" || p.Status == status {
			pets = append(pets, wirePet(p))
		}
		if order == "" && len(pets) == limit {
			break
		}
	}
	switch order {
	case OrderDescending:
		slices.Reverse(pets)
	case OrderShuffled:
		s.rng.Shuffle(len(pets), func(i, j int) { pets[i], pets[j] = pets[j], pets[i] })
	}
	return pets[:min(len(pets), limit)]
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
func parseNewPet(content string, body []byte) (pet petstore.NewPet, err error) {
	if media, _, err := mime.ParseMediaType(content); err != nil || media != mediaJSON {
		return pet, fmt.Errorf("the Content-Type is %s; it must be application/json", quote(content))
	}
	const none = "\x00" // stands for a missing status; null becomes the empty status
	fields := struct {
		Name       string             `json:"name"`
		CategoryID *int64             `json:"categoryId"`
		Status     petstore.PetStatus `json:"status"`
	}{Status: none}
	err = json.Unmarshal(body, &fields)
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
