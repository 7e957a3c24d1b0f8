// Command consumer lists available pets, with code as users of the client write it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/petstore/petstore-go"
)

func main() {
	client, err := petstore.NewClientFromEnv()
	if err == nil {
		err = adopt(context.Background(), client)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var errNoneLeft = errors.New("no pet is available")

// adopt prints the names of the available pets.
func adopt(ctx context.Context, client *petstore.Client) error {
	found, err := client.ListPets(ctx, petstore.ListPetsParams{Status: petstore.PetStatusAvailable})
	if err != nil {
		return err
	}
	if len(found.Pets) == 0 {
		return errNoneLeft
	}
	for _, pet := range found.Pets {
		fmt.Println(pet.Name)
	}
	return nil
}
