// Tenants calls the service with the keys of two customers: each has a client and a budget of its
// own, and both share connections.
//
//	go run ./examples/tenants
//
// It prints
//
//	zoo true
//	farm true
//	zoo false
//	farm true
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func main() {
	server := fake.NewServer(fake.WithKey("key-of-the-zoo", fake.Plan{PerMinute: 1}),
		fake.WithKey("key-of-the-farm", fake.PlanPro))
	defer server.Close()
	if err := run(context.Background(), server.Client()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// run has each tenant send two requests. The second of the zoo is over its limit, which delays no
// other tenant.
func run(ctx context.Context, first *petstore.Client) error {
	zoo, err := first.ForKey("key-of-the-zoo")
	if err != nil {
		return err
	}
	farm, err := first.ForKey("key-of-the-farm")
	if err != nil {
		return err
	}
	for range 2 {
		_, err = zoo.ListPets(ctx, petstore.ListPetsParams{}, petstore.WithMaxWait(0))
		fmt.Println("zoo", err == nil)
		_, err = farm.ListPets(ctx, petstore.ListPetsParams{}, petstore.WithMaxWait(0))
		fmt.Println("farm", err == nil)
	}
	return nil
}
