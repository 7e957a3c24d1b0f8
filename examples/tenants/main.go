// Tenants calls the service for three customers. Each has a key with its own limit and a log with
// its name, and can be stopped alone. All share connections. None notices what happens to another.
//
//	go run ./examples/tenants
//
// It prints
//
//	zoo: 0 pets
//	farm: 0 pets
//	pond: 0 pets
//	The zoo gets another key, the farm is banned, the pond is stopped.
//	zoo: 0 pets
//	farm: rate limited
//	pond: stopped
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// tenant is a customer with a key of its own. It is safe for concurrent use.
type tenant struct {
	name   string
	client atomic.Pointer[petstore.Client] // replaced when the key changes
	stop   context.CancelFunc              // ends all waits, but lets requests in flight finish
}

func newTenant(parent *petstore.Client, name, key string) (*tenant, error) {
	stopped, stop := context.WithCancel(context.Background())
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("tenant", name)
	client, err := parent.ForKey(key, petstore.WithLogger(logger), petstore.WithStop(stopped))
	t := &tenant{name: name, stop: stop}
	t.client.Store(client)
	return t, err
}

// setKey gives another key to all calls that follow. Calls that have begun go on with the old key.
func (t *tenant) setKey(key string) error {
	client, err := t.client.Load().ForKey(key) // it inherits the options for log and stop
	if err == nil {
		t.client.Store(client)
	}
	return err
}

// list prints how many pets the tenant sees.
func (t *tenant) list() {
	result, err := t.client.Load().ListPets(context.Background(), petstore.ListPetsParams{})
	switch {
	case errors.Is(err, petstore.ErrStopped):
		fmt.Println(t.name + ": stopped")
	case errors.Is(err, petstore.ErrRateLimited):
		fmt.Println(t.name + ": rate limited")
	case err != nil:
		fmt.Println(t.name+":", err)
	default:
		fmt.Printf("%s: %d pets\n", t.name, len(result.Pets))
	}
}

func main() {
	server := fake.NewServer()
	defer server.Close()
	parent, tenants := server.Client(), make([]*tenant, 3)
	for i, name := range []string{"zoo", "farm", "pond"} {
		server.AddKey("key-of-the-"+name, fake.PlanFree)
		var err error
		if tenants[i], err = newTenant(parent, name, "key-of-the-"+name); err != nil {
			log.Fatal(err)
		}
		tenants[i].list()
	}
	fmt.Println("The zoo gets another key, the farm is banned, the pond is stopped.")
	server.AddKey("new-key-of-the-zoo", fake.PlanFree)
	if err := tenants[0].setKey("new-key-of-the-zoo"); err != nil {
		log.Fatal(err)
	}
	server.RevokeKey("key-of-the-zoo")
	server.BanKey("key-of-the-farm", time.Hour)
	tenants[2].stop()
	for _, t := range tenants {
		t.list()
	}
}
