//go:build ogen

package bench

import (
	"context"
	"net/http"

	"github.com/petstore/petstore-go/bench/ogenapi"
)

// generated returns the client that ogen generates with its defaults.
func generated(transport http.RoundTripper) []client {
	c, err := ogenapi.NewClient(baseURL, ogenKey{}, ogenapi.WithClient(&http.Client{Transport: transport}))
	if err != nil {
		panic(err) // the arguments are constant
	}
	return []client{{"ogen", func(ctx context.Context, o operation) (any, error) {
		switch pet := newPet(); {
		case o.limit > 0:
			return c.ListPets(ctx, ogenapi.ListPetsParams{Limit: ogenapi.NewOptInt(o.limit)})
		case o.id > 0:
			return c.GetPet(ctx, ogenapi.GetPetParams{PetId: o.id})
		default:
			return c.CreatePet(ctx, &ogenapi.NewPet{
				Name: pet.Name, CategoryId: pet.CategoryID, Status: ogenapi.NewOptPetStatus(ogenapi.PetStatus(pet.Status)),
			})
		}
	}}}
}

// ogenKey gives the generated client the API key.
type ogenKey struct{}

// ApiKey implements the interface that ogen generates.
func (ogenKey) ApiKey(context.Context, ogenapi.OperationName) (ogenapi.ApiKey, error) {
	return ogenapi.ApiKey{Token: apiKey}, nil
}
