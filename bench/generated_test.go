//go:build generated

package bench

import (
	"context"
	"net/http"

	"github.com/petstore/petstore-go/bench/oapiapi"
	"github.com/petstore/petstore-go/bench/ogenapi"
)

// ogenKey gives the client of ogen the API key.
type ogenKey struct{}

// ApiKey implements the interface that ogen generates.
func (ogenKey) ApiKey(context.Context, ogenapi.OperationName) (ogenapi.ApiKey, error) {
	return ogenapi.ApiKey{Token: apiKey}, nil
}

// generated returns the clients that generators make with their defaults.
func generated(transport http.RoundTripper) []client {
	ogen, ogenErr := ogenapi.NewClient(baseURL, ogenKey{}, ogenapi.WithClient(&http.Client{Transport: transport}))
	oapi, oapiErr := oapiapi.NewClientWithResponses(baseURL, oapiapi.WithHTTPClient(&http.Client{Transport: transport}),
		oapiapi.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+apiKey)
			return nil
		}))
	pet := newPet()
	return []client{{"ogen", func(ctx context.Context, limit int) (any, error) {
		if ogenErr != nil {
			return nil, ogenErr
		} else if limit > 0 {
			return ogen.ListPets(ctx, ogenapi.ListPetsParams{Limit: ogenapi.NewOptInt(limit)})
		}
		return ogen.CreatePet(ctx, &ogenapi.NewPet{
			Name: pet.Name, CategoryId: pet.CategoryID, Status: ogenapi.NewOptPetStatus(ogenapi.PetStatus(pet.Status)),
		})
	}}, {"oapi-codegen", func(ctx context.Context, limit int) (any, error) {
		if oapiErr != nil {
			return nil, oapiErr
		} else if limit > 0 {
			r, err := oapi.ListPetsWithResponse(ctx, &oapiapi.ListPetsParams{Limit: &limit})
			return r.JSON200, err
		}
		status := oapiapi.PetStatus(pet.Status)
		r, err := oapi.CreatePetWithResponse(ctx, oapiapi.NewPet{Name: pet.Name, CategoryId: pet.CategoryID, Status: &status})
		return r.JSON201, err
	}}}
}
