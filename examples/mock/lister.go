// Package mock shows an interface of your own in front of the client, for tests that need no
// service at all. Prefer package fake where errors, limits or what was sent matter: a mock returns
// what you believe, the fake what the document says.
package mock

import (
	"context"

	"github.com/petstore/petstore-go"
)

// lister has the one method that this package uses of *petstore.Client.
type lister interface {
	ListPets(context.Context, petstore.ListPetsParams, ...petstore.CallOption) (*petstore.ListPetsResult, error)
}

// sold returns the number of sold pets.
func sold(ctx context.Context, pets lister) (int, error) {
	result, err := pets.ListPets(ctx, petstore.ListPetsParams{Status: petstore.PetStatusSold})
	if err != nil {
		return 0, err
	}
	return len(result.Pets), nil
}
