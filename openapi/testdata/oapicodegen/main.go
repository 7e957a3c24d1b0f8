// Program oapicodegen drives the service at the base address of its first argument, with the key of
// its second, through a client that oapi-codegen generated. It prints what became of each call.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"net/http"
	"os"

	"github.com/petstore/petstore-go/openapi/generated/oapicodegen/petapi"
)

func main() {
	ctx := context.Background()
	client := connect(os.Args[1], os.Args[2])
	available := petapi.Available
	create(client.CreatePetWithResponse(ctx, petapi.NewPet{Name: "Mia", CategoryId: math.MaxInt64, Status: &available}))
	create(client.CreatePetWithResponse(ctx, petapi.NewPet{Name: "Rex", CategoryId: 3}))
	create(client.CreatePetWithResponse(ctx, petapi.NewPet{CategoryId: 3}))
	limit := 1
	list(client.ListPetsWithResponse(ctx, &petapi.ListPetsParams{Limit: &limit, Status: &available}))
	get(client.GetPetWithResponse(ctx, 1))
	get(client.GetPetWithResponse(ctx, 3))
	list(client.ListPetsWithResponse(ctx, nil))
	list(connect(os.Args[1], "no-such-key").ListPetsWithResponse(ctx, nil))
}

func connect(url, apiKey string) *petapi.ClientWithResponses {
	authorize := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+apiKey)
		return nil
	}
	client, err := petapi.NewClientWithResponses(url, petapi.WithRequestEditorFn(authorize))
	must(err)
	return client
}

func create(r *petapi.CreatePetResponse, err error) {
	must(err)
	switch {
	case r.JSON201 != nil:
		fmt.Printf("created %s, %d of %d left\n", text(*r.JSON201),
			r.Headers201.XRateLimitRemaining, r.Headers201.XRateLimitLimit)
	case r.JSON400 != nil:
		fmt.Printf("createPet: %d %s, %d of %d left\n", r.JSON400.Status, r.JSON400.Code,
			r.Headers400.XRateLimitRemaining, r.Headers400.XRateLimitLimit)
	}
}

func list(r *petapi.ListPetsResponse, err error) {
	must(err)
	switch {
	case r.JSON200 != nil:
		pets := *r.JSON200
		fmt.Printf("listed %d: %s, %d of %d left\n", len(pets), pets[0].Name,
			r.Headers200.XRateLimitRemaining, r.Headers200.XRateLimitLimit)
	case r.JSON401 != nil:
		fmt.Printf("listPets: %d %s\n", r.JSON401.Status, r.JSON401.Code)
	case r.JSON429 != nil:
		fmt.Printf("listPets: %d %s, Retry-After is there: %t, %d of %d left\n", r.JSON429.Status,
			r.JSON429.Code, r.Headers429.RetryAfter != "",
			r.Headers429.XRateLimitRemaining, r.Headers429.XRateLimitLimit)
	}
}

func get(r *petapi.GetPetResponse, err error) {
	must(err)
	switch {
	case r.JSON200 != nil:
		fmt.Printf("fetched %s, %d of %d left\n", text(*r.JSON200),
			r.Headers200.XRateLimitRemaining, r.Headers200.XRateLimitLimit)
	case r.JSON404 != nil:
		fmt.Printf("getPet: %d %s, %d of %d left\n", r.JSON404.Status, r.JSON404.Code,
			r.Headers404.XRateLimitRemaining, r.Headers404.XRateLimitLimit)
	}
}

func text(p petapi.Pet) string {
	status := "-"
	if p.Status != nil {
		status = string(*p.Status)
	}
	return fmt.Sprintf("%d %s %d %s", p.Id, p.Name, p.CategoryId, status)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
