// Program oapicodegenserver is the service as somebody writes it who trusts the code that
// oapi-codegen generates with the rest: it implements the three operations and a middleware that
// looks for the key, and no rate limit. It prints its base address and serves until its standard
// input ends.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/petstore/petstore-go/openapi/generated/oapicodegenserver/petapi"
)

const plan = 1_000 // requests; no request is counted

// catalogue is the pets, by ascending id from 1 on.
type catalogue struct {
	mu   sync.Mutex
	pets []petapi.Pet
}

func reset() int64 { return time.Now().Unix() + 60 }

func (c *catalogue) CreatePet(
	_ context.Context, r petapi.CreatePetRequestObject,
) (petapi.CreatePetResponseObject, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pet := petapi.Pet{
		Id: int64(len(c.pets) + 1), Name: r.Body.Name, CategoryId: r.Body.CategoryId, Status: r.Body.Status,
	}
	c.pets = append(c.pets, pet)
	return petapi.CreatePet201JSONResponse{Body: pet, Headers: petapi.CreatePet201ResponseHeaders{
		XRateLimitLimit: plan, XRateLimitRemaining: plan, XRateLimitReset: reset(),
	}}, nil
}

func (c *catalogue) ListPets(
	_ context.Context, r petapi.ListPetsRequestObject,
) (petapi.ListPetsResponseObject, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := 20
	if r.Params.Limit != nil {
		limit = *r.Params.Limit
	}
	list := petapi.Pets{}
	for _, pet := range c.pets {
		fits := r.Params.Status == nil || pet.Status != nil && *pet.Status == *r.Params.Status
		if len(list) < limit && fits {
			list = append(list, pet)
		}
	}
	return petapi.ListPets200JSONResponse{Body: list, Headers: petapi.ListPets200ResponseHeaders{
		XRateLimitLimit: plan, XRateLimitRemaining: plan, XRateLimitReset: reset(),
	}}, nil
}

func (c *catalogue) GetPet(
	_ context.Context, r petapi.GetPetRequestObject,
) (petapi.GetPetResponseObject, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.PetId < 1 || r.PetId > int64(len(c.pets)) {
		return petapi.GetPet404JSONResponse{NotFoundJSONResponse: petapi.NotFoundJSONResponse{
			Body: petapi.Error{Code: "not_found", Message: "no such pet", Status: http.StatusNotFound},
			Headers: petapi.NotFoundResponseHeaders{
				XRateLimitLimit: plan, XRateLimitRemaining: plan, XRateLimitReset: reset(),
			},
		}}, nil
	}
	return petapi.GetPet200JSONResponse{Body: c.pets[r.PetId-1], Headers: petapi.GetPet200ResponseHeaders{
		XRateLimitLimit: plan, XRateLimitRemaining: plan, XRateLimitReset: reset(),
	}}, nil
}

// authenticate lets no request pass without the key.
func authenticate(key string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func main() {
	operations := petapi.NewStrictHandler(new(catalogue), nil)
	handler := petapi.HandlerFromMuxWithBaseURL(operations, http.NewServeMux(), "/v1")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/v1\n", listener.Addr())
	go func() { log.Fatal(http.Serve(listener, authenticate(os.Args[1], handler))) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}
