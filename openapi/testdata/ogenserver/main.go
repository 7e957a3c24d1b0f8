// Program ogenserver is the service as somebody writes it who trusts the code that ogen generates
// with the rest: it implements the three operations and the security handler, and no rate limit. It
// prints its base address and serves until its standard input ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/petstore/petstore-go/openapi/generated/ogenserver/petapi"
)

const plan = 1_000 // requests; no request is counted

// key is the API key that the server accepts.
type key string

func (k key) HandleApiKey(ctx context.Context, _ petapi.OperationName, t petapi.ApiKey) (context.Context, error) {
	if t.Token != string(k) {
		return nil, errors.New("unknown key")
	}
	return ctx, nil
}

// catalogue is the pets, by ascending id from 1 on.
type catalogue struct {
	mu   sync.Mutex
	pets []petapi.Pet
}

func reset() int64 { return time.Now().Unix() + 60 }

func (c *catalogue) CreatePet(_ context.Context, p *petapi.NewPet) (petapi.CreatePetRes, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pet := petapi.Pet{ID: int64(len(c.pets) + 1), Name: p.Name, CategoryId: p.CategoryId, Status: p.Status}
	c.pets = append(c.pets, pet)
	return &petapi.PetHeaders{
		XRateLimitLimit: plan, XRateLimitRemaining: plan, XRateLimitReset: reset(), Response: pet,
	}, nil
}

func (c *catalogue) ListPets(_ context.Context, p petapi.ListPetsParams) (petapi.ListPetsRes, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := petapi.Pets{}
	for _, pet := range c.pets {
		if len(list) < p.Limit.Value && (!p.Status.Set || pet.Status == p.Status) {
			list = append(list, pet)
		}
	}
	return &petapi.PetsHeaders{
		XRateLimitLimit: plan, XRateLimitRemaining: plan, XRateLimitReset: reset(), Response: list,
	}, nil
}

func (c *catalogue) GetPet(_ context.Context, p petapi.GetPetParams) (petapi.GetPetRes, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.PetId < 1 || p.PetId > int64(len(c.pets)) {
		return &petapi.NotFoundHeaders{
			XRateLimitLimit: plan, XRateLimitRemaining: plan, XRateLimitReset: reset(),
			Response: petapi.Error{Code: "not_found", Message: "no such pet", Status: http.StatusNotFound},
		}, nil
	}
	return &petapi.PetHeaders{
		XRateLimitLimit: plan, XRateLimitRemaining: plan, XRateLimitReset: reset(),
		Response: c.pets[p.PetId-1],
	}, nil
}

func main() {
	server, err := petapi.NewServer(new(catalogue), key(os.Args[1]), petapi.WithPathPrefix("/v1"))
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/v1\n", listener.Addr())
	go func() { log.Fatal(http.Serve(listener, server)) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}
