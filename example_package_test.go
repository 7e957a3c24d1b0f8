package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// A client adds a pet, lists the pets, and gets a typed error. The service is the fake, so that the
// example runs anywhere; for a real service use petstore.NewClient("https://host/v1", apiKey).
func Example() {
	server := fake.NewServer()
	defer server.Close()
	client, err := petstore.NewClient(server.URL(), server.APIKey())
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	created, err := client.CreatePet(ctx, petstore.NewPet{Name: "Rex", CategoryID: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("created", created.Pet.Name, "with id", created.Pet.ID)

	result, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 10})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(result.Pets), "pet,", result.RateLimit.Remaining, "requests left")

	server.Inject(fake.Fault{Status: 401, Message: "the key was revoked"})
	_, err = client.ListPets(ctx, petstore.ListPetsParams{})
	fmt.Println(errors.Is(err, petstore.ErrUnauthorized), err)
	// Output:
	// created Rex with id 1
	// 1 pet, 998 requests left
	// true petstore: listPets: 401 unauthorized: "the key was revoked"
}
