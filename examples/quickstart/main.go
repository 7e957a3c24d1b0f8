// Quickstart lists pets, filters them, adds one, and reads the rate limit.
//
//	go run ./examples/quickstart
//
// It runs on a fake of the service in memory. To run it on a real service, where it adds a pet as
// well, set PETSTORE_BASE_URL and PETSTORE_API_KEY.
//
// It prints
//
//	Pet Store quickstart on a fake service in memory
//	...
//	Available (3)
//	  ID   NAME    CATEGORY   STATUS
//	  1    Rex     1          available
//	  2    Mimi    2          available
//	  5    Bruno   1          available
//	...
//	997 of 1000 requests left in this window
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	client, done, err := connect()
	if err == nil {
		err = run(ctx, client, os.Stdout)
		done()
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run does what most programs do with the SDK.
func run(ctx context.Context, client *petstore.Client, w io.Writer) error {
	all, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 10})
	if err != nil {
		return err
	}
	printPets(w, "The first pets", all.Pets)

	available, err := client.ListPets(ctx, petstore.ListPetsParams{Status: petstore.PetStatusAvailable})
	if err != nil {
		return err
	}
	printPets(w, "Available", available.Pets)

	created, err := client.CreatePet(ctx, petstore.NewPet{
		Name:       "Nala",
		CategoryID: 2,
		Status:     petstore.PetStatusPending,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nAdded %s with id %d, status %s\n", created.Pet.Name, created.Pet.ID, created.Pet.Status)

	limit := created.RateLimit // all results and all *APIErrors have it
	fmt.Fprintf(w, "\n%d of %d requests left in this window\n", limit.Remaining, limit.Limit)
	return nil
}

func printPets(w io.Writer, title string, pets []petstore.Pet) {
	fmt.Fprintf(w, "\n%s (%d)\n", title, len(pets))
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "  ID\tNAME\tCATEGORY\tSTATUS")
	for _, pet := range pets {
		fmt.Fprintf(table, "  %d\t%s\t%d\t%s\n", pet.ID, pet.Name, pet.CategoryID, pet.Status)
	}
	_ = table.Flush() // it fails only if w does
}

// connect returns a client of the service in PETSTORE_BASE_URL, or else of a fake, which done closes.
func connect() (client *petstore.Client, done func(), err error) {
	if os.Getenv("PETSTORE_BASE_URL") != "" {
		client, err = petstore.NewClientFromEnv()
		return client, func() {}, err
	}
	fmt.Println("Pet Store quickstart on a fake service in memory")
	server := newFake()
	return server.Client(), server.Close, nil
}

func newFake() *fake.Server {
	return fake.NewServer(fake.WithPets(
		petstore.NewPet{Name: "Rex", CategoryID: 1, Status: petstore.PetStatusAvailable},
		petstore.NewPet{Name: "Mimi", CategoryID: 2, Status: petstore.PetStatusAvailable},
		petstore.NewPet{Name: "Hoppel", CategoryID: 3, Status: petstore.PetStatusSold},
		petstore.NewPet{Name: "Coco", CategoryID: 4, Status: petstore.PetStatusPending},
		petstore.NewPet{Name: "Bruno", CategoryID: 1, Status: petstore.PetStatusAvailable},
	))
}
