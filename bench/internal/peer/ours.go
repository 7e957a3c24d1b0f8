package peer

import (
	"context"
	"net/http"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/bench/internal/canned"
)

// newOurs returns this repository's client as NewClient makes it: limiter, retries, strict decoding
// and the timeout of an attempt are on.
func newOurs(t Target) (Client, error) {
	var opts []petstore.Option
	if t.Transport != nil {
		opts = append(opts, petstore.WithHTTPClient(&http.Client{Transport: t.Transport}))
	}
	client, err := petstore.NewClient(t.BaseURL, APIKey, opts...)
	call := func(ctx context.Context, o canned.Operation) (any, error) {
		switch {
		case o.Limit > 0:
			return client.ListPets(ctx, petstore.ListPetsParams{Limit: o.Limit})
		case o.ID > 0:
			return client.GetPet(ctx, o.ID) //nolint:staticcheck // the service still has it, so it is measured
		}
		return client.CreatePet(ctx, canned.NewPet)
	}
	return Client{"petstore-go", call}, err
}
