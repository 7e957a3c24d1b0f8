// Testing is a small application with its tests, which are in shelter_test.go.
//
//	go run ./examples/testing
//	go test -v ./examples/testing
//
// The program runs on a fake of the service. With PETSTORE_BASE_URL and PETSTORE_API_KEY it runs on
// a real service, where it adds a pet. The tests always run on the fake.
//
// It prints
//
//	Admitted Rex with id 1
//	The shelter has 1 available, 0 pending, 0 sold
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func main() {
	client, done, err := connect()
	if err == nil {
		err = run(context.Background(), Shelter{client}, os.Stdout)
		done()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, shelter Shelter, w io.Writer) error {
	pet, err := shelter.Admit(ctx, "Rex", 1)
	if err != nil {
		return err
	}
	report, err := shelter.Report(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Admitted %s with id %d\nThe shelter has %s\n", pet.Name, pet.ID, report)
	return nil
}

func connect() (client *petstore.Client, done func(), err error) {
	if os.Getenv("PETSTORE_BASE_URL") != "" {
		client, err = petstore.NewClientFromEnv()
		return client, func() {}, err
	}
	server := fake.NewServer()
	return server.Client(), server.Close, nil
}
