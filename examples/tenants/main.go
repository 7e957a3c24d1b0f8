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
	"log"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// clients returns a client for each tenant. One tenant that has used up its limit delays no other.
func clients(first *petstore.Client, keys map[string]string) (map[string]*petstore.Client, error) {
	all := map[string]*petstore.Client{}
	for tenant, key := range keys {
		client, err := first.ForKey(key)
		if err != nil {
			return nil, fmt.Errorf("tenant %s: %w", tenant, err)
		}
		all[tenant] = client
	}
	return all, nil
}

func main() {
	server := fake.NewServer(fake.WithKey("key-of-the-zoo", fake.Enterprise(1, 0)),
		fake.WithKey("key-of-the-farm", fake.PlanPro))
	defer server.Close()
	all, err := clients(server.Client(petstore.WithMaxWait(0)),
		map[string]string{"zoo": "key-of-the-zoo", "farm": "key-of-the-farm"})
	if err != nil {
		log.Print(err)
		return
	}
	for range 2 { // the second request of the zoo is over its limit
		for _, tenant := range []string{"zoo", "farm"} {
			_, err := all[tenant].ListPets(context.Background(), petstore.ListPetsParams{})
			fmt.Println(tenant, err == nil)
		}
	}
}
