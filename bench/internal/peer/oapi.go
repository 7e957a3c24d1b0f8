//go:build generated

package peer

import (
	"context"
	"net/http"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/oapi"
)

// oapiClient is the client that oapi-codegen generates, with the responses parsed.
type oapiClient struct{ client *oapi.ClientWithResponses }

func newOAPI(t Target) (Client, error) {
	client, err := oapi.NewClientWithResponses(t.BaseURL,
		oapi.WithHTTPClient(&http.Client{Transport: t.transport()}),
		oapi.WithRequestEditorFn(func(_ context.Context, req *http.Request) error {
			setHeader(req.Header, false) // it sets the Content-Type itself
			return nil
		}))
	return oapiClient{client}, err
}

// Call implements [Client].
func (c oapiClient) Call(ctx context.Context, o canned.Operation) (any, error) {
	switch o {
	case canned.List20, canned.List100:
		limit := o.Limit()
		return c.client.ListPetsWithResponse(ctx, &oapi.ListPetsParams{Limit: &limit})
	case canned.Create:
		status := oapi.PetStatus(canned.NewPet.Status)
		return c.client.CreatePetWithResponse(ctx, oapi.NewPet{
			Name: canned.NewPet.Name, CategoryId: canned.NewPet.CategoryID, Status: &status,
		})
	case canned.Get, canned.NotFound:
	}
	return c.client.GetPetWithResponse(ctx, o.ID())
}

// Read implements [Client].
func (c oapiClient) Read(value any, err error) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	switch r := value.(type) {
	case *oapi.ListPetsResponse:
		if r.JSON200 != nil {
			h := r.Headers200
			return c.pets(r.StatusCode(), *r.JSON200, h.XRateLimitLimit, h.XRateLimitRemaining, h.XRateLimitReset), nil
		}
	case *oapi.CreatePetResponse:
		if r.JSON201 != nil {
			h, pets := r.Headers201, []oapi.Pet{*r.JSON201}
			return c.pets(r.StatusCode(), pets, h.XRateLimitLimit, h.XRateLimitRemaining, h.XRateLimitReset), nil
		}
	case *oapi.GetPetResponse:
		if r.JSON200 != nil {
			h, pets := r.Headers200, []oapi.Pet{*r.JSON200}
			return c.pets(r.StatusCode(), pets, h.XRateLimitLimit, h.XRateLimitRemaining, h.XRateLimitReset), nil
		}
		if r.JSON404 != nil {
			h := r.Headers404
			a := c.pets(r.StatusCode(), nil, h.XRateLimitLimit, h.XRateLimitRemaining, h.XRateLimitReset)
			a.Code = r.JSON404.Code
			return a, nil
		}
	}
	return Result{}, errUnknownResult
}

func (oapiClient) pets(status int, pets []oapi.Pet, limit, remaining int, reset int64) Result {
	a := Result{Status: status, RateLimit: newRateLimit(limit, remaining, reset)}
	for _, p := range pets {
		pet := petstore.Pet{ID: p.Id, Name: p.Name, CategoryID: p.CategoryId}
		if p.Status != nil {
			pet.Status = petstore.PetStatus(*p.Status)
		}
		a.Pets = append(a.Pets, pet)
	}
	return a
}
