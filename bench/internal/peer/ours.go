package peer

import (
	"context"
	"errors"
	"net/http"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/bench/internal/canned"
)

// ours is this repository's client as NewClient makes it: limiter, retries, strict decoding and the
// timeout of an attempt are on.
type ours struct{ client *petstore.Client }

func newOurs(t Target) (Client, error) {
	var opts []petstore.Option
	if t.Transport != nil {
		opts = append(opts, petstore.WithHTTPClient(&http.Client{Transport: t.Transport}))
	}
	client, err := petstore.NewClient(t.BaseURL, APIKey, opts...)
	return ours{client}, err
}

// Call implements [Client].
func (c ours) Call(ctx context.Context, o canned.Operation) (any, error) {
	switch {
	case o.Limit > 0:
		return c.client.ListPets(ctx, petstore.ListPetsParams{Limit: o.Limit})
	case o.ID > 0:
		return c.client.GetPet(ctx, o.ID) //nolint:staticcheck // the service still has it, so it is measured
	}
	return c.client.CreatePet(ctx, canned.NewPet)
}

// Read implements [Client].
func (c ours) Read(value any, err error) (Result, error) {
	if e, ok := errors.AsType[*petstore.APIError](err); ok {
		return Result{Status: e.StatusCode, Code: e.Code, RateLimit: e.RateLimit}, nil
	}
	if err != nil {
		return Result{}, err
	}
	switch r := value.(type) {
	case *petstore.ListPetsResult:
		return Result{Status: r.StatusCode, Pets: r.Pets, RateLimit: r.RateLimit}, nil
	case *petstore.CreatePetResult:
		return Result{Status: r.StatusCode, Pets: []petstore.Pet{r.Pet}, RateLimit: r.RateLimit}, nil
	case *petstore.GetPetResult:
		return Result{Status: r.StatusCode, Pets: []petstore.Pet{r.Pet}, RateLimit: r.RateLimit}, nil
	}
	return Result{}, nil
}
