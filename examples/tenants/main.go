// Tenants calls the service for three customers. Each has a key with its own limit, a log that
// names it, and a stop; all share connections. None of them notices what happens to another.
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
	"io"
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
	client atomic.Pointer[petstore.Client] // another one after each change of the key
	stop   context.CancelFunc              // ends all waits, but lets requests in flight finish
}

func newTenant(parent *petstore.Client, logger *slog.Logger, name, key string) (*tenant, error) {
	stopped, stop := context.WithCancel(context.Background())
	client, err := parent.ForKey(key,
		petstore.WithLogger(logger.With("tenant", name)), petstore.WithStop(stopped))
	t := &tenant{name: name, stop: stop}
	t.client.Store(client)
	return t, err
}

// setKey gives another key to all calls that follow. Calls that have begun go on with the old key.
func (t *tenant) setKey(key string) error {
	client, err := t.client.Load().ForKey(key) // log and stop stay
	if err == nil {
		t.client.Store(client)
	}
	return err
}

// list says how many pets the tenant sees.
func (t *tenant) list(ctx context.Context) string {
	result, err := t.client.Load().ListPets(ctx, petstore.ListPetsParams{})
	switch {
	case errors.Is(err, petstore.ErrStopped):
		return t.name + ": stopped"
	case errors.Is(err, petstore.ErrRateLimited):
		return t.name + ": rate limited"
	case err != nil:
		return t.name + ": " + err.Error()
	}
	return fmt.Sprintf("%s: %d pets", t.name, len(result.Pets))
}

func main() {
	if err := run(context.Background(), fake.NewServer(),
		slog.New(slog.NewTextHandler(os.Stderr, nil)), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, server *fake.Server, logger *slog.Logger, w io.Writer) error {
	defer server.Close()
	parent, tenants := server.Client(), make([]*tenant, 3)
	for i, name := range []string{"zoo", "farm", "pond"} {
		server.AddKey("key-of-the-"+name, fake.PlanFree)
		var err error
		if tenants[i], err = newTenant(parent, logger, name, "key-of-the-"+name); err != nil {
			return err
		}
		fmt.Fprintln(w, tenants[i].list(ctx))
	}
	fmt.Fprintln(w, "The zoo gets another key, the farm is banned, the pond is stopped.")
	server.AddKey("new-key-of-the-zoo", fake.PlanFree)
	err := tenants[0].setKey("new-key-of-the-zoo")
	server.RevokeKey("key-of-the-zoo")
	server.BanKey("key-of-the-farm", time.Hour)
	tenants[2].stop()
	for _, t := range tenants {
		fmt.Fprintln(w, t.list(ctx))
	}
	return err
}
