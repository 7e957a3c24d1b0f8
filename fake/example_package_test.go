package fake_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// A server in memory, a client of it, a failure on demand, and the journal.
func Example() {
	srv := fake.NewServer(fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}))
	defer srv.Close()
	client, ctx := srv.Client(), context.Background()

	list, err := client.ListPets(ctx, petstore.ListPetsParams{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(list.Pets[0].Name, "and", list.RateLimit.Remaining, "more requests in this minute")

	srv.Inject(fake.Fault{Operation: petstore.OpCreatePet, Status: http.StatusBadGateway})
	_, err = client.CreatePet(ctx, petstore.NewPet{Name: "Mia", CategoryID: 1})
	fmt.Println("outcome unknown:", errors.Is(err, petstore.ErrOutcomeUnknown))

	for _, r := range srv.Requests() {
		fmt.Println(r)
	}
	// Output:
	// Rex and 999 more requests in this minute
	// outcome unknown: true
	// #1 GET /v1/pets → 200
	// #2 POST /v1/pets "{\"name\":\"Mia\",\"categoryId\":1}" → 502, by a fault: injected fault on createPet with status 502
}
