//go:build generated

package peer

import (
	"context"
	"net/http"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/ogenapi"
)

// generated returns the client made of generated code.
func generated() []Peer { return []Peer{{"ogen", newOgen}} }

// ogenClient is the client that ogen generates with its defaults.
type ogenClient struct{ client *ogenapi.Client }

func newOgen(t Target) (Client, error) {
	client, err := ogenapi.NewClient(t.BaseURL, ogenKey{},
		ogenapi.WithClient(&http.Client{Transport: t.transport()}))
	return ogenClient{client}, err
}

// ogenKey gives the generated client the API key.
type ogenKey struct{}

// ApiKey implements the interface that ogen generates.
func (ogenKey) ApiKey(context.Context, ogenapi.OperationName) (ogenapi.ApiKey, error) {
	return ogenapi.ApiKey{Token: APIKey}, nil
}

// Call implements [Client].
func (c ogenClient) Call(ctx context.Context, o canned.Operation) (any, error) {
	switch {
	case o.Limit > 0:
		return c.client.ListPets(ctx, ogenapi.ListPetsParams{Limit: ogenapi.NewOptInt(o.Limit)})
	case o.ID > 0:
		return c.client.GetPet(ctx, ogenapi.GetPetParams{PetId: o.ID})
	}
	return c.client.CreatePet(ctx, &ogenapi.NewPet{
		Name:       canned.NewPet.Name,
		CategoryId: canned.NewPet.CategoryID,
		Status:     ogenapi.NewOptPetStatus(ogenapi.PetStatus(canned.NewPet.Status)),
	})
}

// Read implements [Client]. A generated result has no status; its type stands for one.
func (c ogenClient) Read(value any, err error) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	switch r := value.(type) {
	case *ogenapi.PetsHeaders:
		return c.pets(http.StatusOK, r.Response, r.XRateLimitLimit, r.XRateLimitRemaining, r.XRateLimitReset), nil
	case *ogenapi.PetHeaders:
		pets := []ogenapi.Pet{r.Response}
		return c.pets(0, pets, r.XRateLimitLimit, r.XRateLimitRemaining, r.XRateLimitReset), nil
	case *ogenapi.NotFoundHeaders:
		a := c.pets(http.StatusNotFound, nil, r.XRateLimitLimit, r.XRateLimitRemaining, r.XRateLimitReset)
		a.Code = r.Response.Code
		return a, nil
	}
	return Result{}, nil
}

func (ogenClient) pets(status int, pets []ogenapi.Pet, limit, remaining int, reset int64) Result {
	a := Result{Status: status, RateLimit: newRateLimit(limit, remaining, reset)}
	for _, p := range pets {
		a.Pets = append(a.Pets, petstore.Pet{
			ID: p.ID, Name: p.Name, CategoryID: p.CategoryId, Status: petstore.PetStatus(p.Status.Value),
		})
	}
	return a
}
