// Package control calls what replaces the deprecated operation: staticcheck must have nothing to say.
package control

import (
	"context"

	petstore "github.com/petstore/petstore-go"
)

// Call is not to be reported.
func Call(ctx context.Context, client *petstore.Client) error {
	_, err := client.ListPets(ctx, petstore.ListPetsParams{Status: petstore.PetStatusSold})
	return err
}
