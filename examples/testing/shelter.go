// Package shelter is a small application, and shelter_test.go its tests on a fake of the service:
//
//	go test -v ./examples/testing
package shelter

import (
	"context"
	"errors"
	"fmt"

	"github.com/petstore/petstore-go"
)

// Shelter is an example of an application that uses the client.
type Shelter struct{ client *petstore.Client }

// Available returns the number of available pets, at most 100.
func (s Shelter) Available(ctx context.Context) (int, error) {
	result, err := s.client.ListPets(ctx, petstore.ListPetsParams{
		Status: petstore.PetStatusAvailable, Limit: petstore.MaxListLimit,
	})
	if err != nil {
		return 0, fmt.Errorf("available: %w", err)
	}
	return len(result.Pets), nil
}

// ErrLook is matched by an error after which a person must check whether the pet exists.
var ErrLook = errors.New("look whether the pet was added")

// Admit adds a pet. If the outcome is unknown, Admit does not try again: a list shows only 100
// pets, so a pet that is not in the list may exist all the same.
func (s Shelter) Admit(ctx context.Context, name string) (petstore.Pet, error) {
	created, err := s.client.CreatePet(ctx, petstore.NewPet{
		Name: name, CategoryID: 1, Status: petstore.PetStatusAvailable,
	})
	switch {
	case errors.Is(err, petstore.ErrOutcomeUnknown):
		return petstore.Pet{}, fmt.Errorf("admit %s: %w: %w", name, ErrLook, err)
	case err != nil:
		return petstore.Pet{}, fmt.Errorf("admit %s: %w", name, err)
	}
	return created.Pet, nil
}
