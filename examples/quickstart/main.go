// Quickstart lists pets, adds one, and reads the rate limit.
//
//	go run ./examples/quickstart
//
// It runs on a fake of the service in memory. To run it on a real service, to which it also adds a
// pet, set PETSTORE_BASE_URL and PETSTORE_API_KEY.
//
// It prints
//
//	1 Rex, available
//	added Nala with id 3, pending
//	998 of 1000 requests left in this window
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	server := fake.NewServer(fake.WithPets(
		petstore.NewPet{Name: "Rex", CategoryID: 1, Status: petstore.PetStatusAvailable},
		petstore.NewPet{Name: "Mimi", CategoryID: 2, Status: petstore.PetStatusSold},
	))
	defer server.Close()
	client := server.Client() // only in an example: a program without its settings must not start
	if os.Getenv("PETSTORE_BASE_URL") != "" {
		var err error
		if client, err = petstore.NewClientFromEnv(); err != nil {
			return err
		}
	}
	available, err := client.ListPets(ctx, petstore.ListPetsParams{Status: petstore.PetStatusAvailable, Limit: 10})
	if err != nil {
		return err
	}
	for _, pet := range available.Pets {
		fmt.Printf("%d %s, %s\n", pet.ID, pet.Name, pet.Status)
	}
	nala := petstore.NewPet{Name: "Nala", CategoryID: 2, Status: petstore.PetStatusPending}
	created, err := client.CreatePet(ctx, nala)
	if err != nil {
		return err
	}
	fmt.Printf("added %s with id %d, %s\n", created.Pet.Name, created.Pet.ID, created.Pet.Status)
	limit := created.RateLimit // all results and all *APIErrors have a RateLimit
	fmt.Printf("%d of %d requests left in this window\n", limit.Remaining, limit.Limit)
	return nil
}
