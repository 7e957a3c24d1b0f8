//go:build generated

package peer

import (
	"context"
	"net/http"

	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/ogenapi"
)

// generated returns the client that ogen generates with its defaults.
func generated(t Target) ([]Client, error) {
	client, err := ogenapi.NewClient(t.BaseURL, ogenKey{}, ogenapi.WithClient(&http.Client{Transport: t.transport()}))
	call := func(ctx context.Context, o canned.Operation) (any, error) {
		switch {
		case o.Limit > 0:
			return client.ListPets(ctx, ogenapi.ListPetsParams{Limit: ogenapi.NewOptInt(o.Limit)})
		case o.ID > 0:
			return client.GetPet(ctx, ogenapi.GetPetParams{PetId: o.ID})
		}
		return client.CreatePet(ctx, &ogenapi.NewPet{
			Name:       canned.NewPet.Name,
			CategoryId: canned.NewPet.CategoryID,
			Status:     ogenapi.NewOptPetStatus(ogenapi.PetStatus(canned.NewPet.Status)),
		})
	}
	return []Client{{"ogen", call}}, err
}

// ogenKey gives the generated client the API key.
type ogenKey struct{}

// ApiKey implements the interface that ogen generates.
func (ogenKey) ApiKey(context.Context, ogenapi.OperationName) (ogenapi.ApiKey, error) {
	return ogenapi.ApiKey{Token: APIKey}, nil
}
