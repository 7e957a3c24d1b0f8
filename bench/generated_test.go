//go:build generated

package bench

import (
	"context"
	"net/http"

	"github.com/petstore/petstore-go/bench/oapiapi"
	"github.com/petstore/petstore-go/bench/ogenapi"
)

// generated returns the clients that generators make with their defaults.
func generated(transport http.RoundTripper) []client {
	ogen, err := ogenapi.NewClient(baseURL, ogenKey{}, ogenapi.WithClient(&http.Client{Transport: transport}))
	if err != nil {
		panic(err) // the arguments are constant
	}
	oapi, err := oapiapi.NewClientWithResponses(baseURL, oapiapi.WithHTTPClient(&http.Client{Transport: transport}),
		oapiapi.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+apiKey)
			return nil
		}))
	if err != nil {
		panic(err)
	}
	return []client{{"ogen", callOgen(ogen)}, {"oapi-codegen", callOapi(oapi)}}
}

func callOgen(c *ogenapi.Client) func(context.Context, operation) (any, error) {
	return func(ctx context.Context, o operation) (any, error) {
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
	}
}

// ogenKey gives the generated client the API key.
type ogenKey struct{}

// ApiKey implements the interface that ogen generates.
func (ogenKey) ApiKey(context.Context, ogenapi.OperationName) (ogenapi.ApiKey, error) {
	return ogenapi.ApiKey{Token: apiKey}, nil
}

func callOapi(c *oapiapi.ClientWithResponses) func(context.Context, operation) (any, error) {
	return func(ctx context.Context, o operation) (any, error) {
		switch pet := newPet(); {
		case o.limit > 0:
			r, err := c.ListPetsWithResponse(ctx, &oapiapi.ListPetsParams{Limit: &o.limit})
			return r.JSON200, err
		case o.missing:
			r, err := c.GetPetWithResponse(ctx, o.id)
			return r.JSON404, err
		case o.id > 0:
			r, err := c.GetPetWithResponse(ctx, o.id)
			return r.JSON200, err
		default:
			status := oapiapi.PetStatus(pet.Status)
			r, err := c.CreatePetWithResponse(ctx, oapiapi.NewPet{Name: pet.Name, CategoryId: pet.CategoryID, Status: &status})
			return r.JSON201, err
		}
	}
}
