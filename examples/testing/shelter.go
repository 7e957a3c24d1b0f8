package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/petstore/petstore-go"
)

// Shelter is an example of an application that uses the client.
type Shelter struct{ client *petstore.Client }

// Report returns the number of listed pets for each status.
func (s Shelter) Report(ctx context.Context) (string, error) {
	var available, pending, sold int
	for status, count := range map[petstore.PetStatus]*int{
		petstore.PetStatusAvailable: &available,
		petstore.PetStatusPending:   &pending,
		petstore.PetStatusSold:      &sold,
	} {
		result, err := s.client.ListPets(ctx, petstore.ListPetsParams{Status: status, Limit: petstore.MaxListLimit})
		if err != nil {
			return "", fmt.Errorf("report: %w", err)
		}
		*count = len(result.Pets)
	}
	return fmt.Sprintf("%d available, %d pending, %d sold", available, pending, sold), nil
}

// Admit adds a pet. If the outcome is unknown, it checks whether the pet exists, and does not add
// it twice. It compares names, because all pets of a shelter have different ones.
func (s Shelter) Admit(ctx context.Context, name string, category int64) (petstore.Pet, error) {
	pet := petstore.NewPet{Name: name, CategoryID: category, Status: petstore.PetStatusAvailable}
	created, err := s.client.CreatePet(ctx, pet)
	if err == nil {
		return created.Pet, nil
	}
	if errors.Is(err, petstore.ErrOutcomeUnknown) {
		if found, ok := s.find(ctx, pet); ok {
			return found, nil
		}
	}
	return petstore.Pet{}, fmt.Errorf("admit %s: %w", name, err)
}

func (s Shelter) find(ctx context.Context, wanted petstore.NewPet) (petstore.Pet, bool) {
	result, err := s.client.ListPets(ctx, petstore.ListPetsParams{Status: wanted.Status, Limit: petstore.MaxListLimit})
	if err != nil {
		return petstore.Pet{}, false
	}
	for _, pet := range result.Pets {
		if pet.Name == wanted.Name && pet.CategoryID == wanted.CategoryID {
			return pet, true
		}
	}
	return petstore.Pet{}, false
}
