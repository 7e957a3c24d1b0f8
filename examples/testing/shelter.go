package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/petstore/petstore-go"
)

// Shelter is what an application might build on the client.
type Shelter struct{ client *petstore.Client }

// Report says how many of the listed animals are in which status.
func (s Shelter) Report(ctx context.Context) (string, error) {
	var available, pending, sold int
	for status, count := range map[petstore.PetStatus]*int{
		petstore.PetStatusAvailable: &available,
		petstore.PetStatusPending:   &pending,
		petstore.PetStatusSold:      &sold,
	} {
		result, err := s.client.ListPets(ctx, petstore.ListPetsParams{Status: status, Limit: petstore.MaxLimit})
		if err != nil {
			return "", fmt.Errorf("report: %w", err)
		}
		*count = len(result.Pets)
	}
	return fmt.Sprintf("%d available, %d pending, %d sold", available, pending, sold), nil
}

// Admit adds an animal. If the outcome is unknown it looks whether the animal is there, rather than
// adding it twice. It goes by the name: no two animals of a shelter have the same.
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
	result, err := s.client.ListPets(ctx, petstore.ListPetsParams{Status: wanted.Status, Limit: petstore.MaxLimit})
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
