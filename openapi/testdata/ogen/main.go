// Program ogen drives the service at the base address of its first argument, with the key of its
// second, through a client that ogen generated. It prints what became of each call.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"

	"github.com/petstore/petstore-go/openapi/generated/ogen/petapi"
)

// key is the API key as ogen's clients ask for it.
type key string

// ApiKey returns the key. The name is that of the security scheme, as ogen writes it.
func (k key) ApiKey(context.Context, petapi.OperationName) (petapi.ApiKey, error) {
	return petapi.ApiKey{Token: string(k)}, nil
}

func main() {
	ctx := context.Background()
	client := connect(os.Args[1], os.Args[2])
	available := petapi.NewOptPetStatus(petapi.PetStatusAvailable)
	show(client.CreatePet(ctx, &petapi.NewPet{Name: "Mia", CategoryId: math.MaxInt64, Status: available}))
	show(client.CreatePet(ctx, &petapi.NewPet{Name: "Rex", CategoryId: 3}))
	show(client.CreatePet(ctx, &petapi.NewPet{CategoryId: 3}))
	show(client.ListPets(ctx, petapi.ListPetsParams{Limit: petapi.NewOptInt(1), Status: available}))
	show(client.GetPet(ctx, petapi.GetPetParams{PetId: 1}))
	show(client.GetPet(ctx, petapi.GetPetParams{PetId: 3}))
	show(client.ListPets(ctx, petapi.ListPetsParams{}))
	show(connect(os.Args[1], "no-such-key").ListPets(ctx, petapi.ListPetsParams{}))
}

func connect(url, apiKey string) *petapi.Client {
	client, err := petapi.NewClient(url, key(apiKey))
	if err != nil {
		log.Fatal(err)
	}
	return client
}

// verbs are what createPet and getPet do, by the number of the call.
var verbs = map[int]string{0: "created", 1: "created", 4: "fetched"}

var calls int

// show prints a result, whose type is the status of the answer.
func show(result any, err error) {
	if err != nil {
		log.Fatal(err)
	}
	switch r := result.(type) {
	case *petapi.PetHeaders:
		p := r.Response
		status := string(p.Status.Or("-"))
		fmt.Printf("%s %d %s %d %s, %d of %d left\n", verbs[calls], p.ID, p.Name, p.CategoryId, status,
			r.XRateLimitRemaining, r.XRateLimitLimit)
	case *petapi.PetsHeaders:
		fmt.Printf("listed %d: %s, %d of %d left\n", len(r.Response), r.Response[0].Name,
			r.XRateLimitRemaining, r.XRateLimitLimit)
	case *petapi.BadRequestHeaders:
		fmt.Printf("createPet: %d %s, %d of %d left\n", r.Response.Status, r.Response.Code,
			r.XRateLimitRemaining, r.XRateLimitLimit)
	case *petapi.NotFoundHeaders:
		fmt.Printf("getPet: %d %s, %d of %d left\n", r.Response.Status, r.Response.Code,
			r.XRateLimitRemaining, r.XRateLimitLimit)
	case *petapi.TooManyRequestsHeaders:
		fmt.Printf("listPets: %d %s, Retry-After is there: %t, %d of %d left\n", r.Response.Status,
			r.Response.Code, r.RetryAfter != "", r.XRateLimitRemaining, r.XRateLimitLimit)
	case *petapi.UnauthorizedHeaders:
		fmt.Printf("listPets: %d %s\n", r.Response.Status, r.Response.Code)
	}
	calls++
}
