// Package canned holds the responses that every client of the benchmarks gets, and two ways to get
// them: a stub of a transport and a handler for a server.
package canned

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
)

// Operation is one of the calls that are measured: a list if it has a limit, getPet if it has an ID.
type Operation struct {
	Name   string // in the tables
	Status int    // of its response
	Limit  int
	ID     int64
}

// The operations. NotFound is getPet of a pet that does not exist.
var (
	List20   = Operation{Name: "list20", Status: http.StatusOK, Limit: 20}
	List100  = Operation{Name: "list100", Status: http.StatusOK, Limit: 100}
	Create   = Operation{Name: "create", Status: http.StatusCreated}
	Get      = Operation{Name: "get", Status: http.StatusOK, ID: 4711}
	NotFound = Operation{Name: "404", Status: http.StatusNotFound, ID: 404404}
)

// Operations returns all of them, in the order of the tables.
func Operations() []Operation { return []Operation{List20, List100, Create, Get, NotFound} }

// NewPet is the pet that Create adds.
var NewPet = petstore.NewPet{Name: "Mia", CategoryID: 3, Status: petstore.PetStatusAvailable}

// Pets returns the first n pets of the catalogue: names of three to nineteen letters, a status for
// all but every tenth.
func Pets(n int) []petstore.Pet {
	names := []string{"Mia", "Rex", "Bella", "Sir Barks-a-Lot", "Luna", "Captain Whiskerpaws", "Charlie", "Zoë"}
	statuses := []petstore.PetStatus{
		petstore.PetStatusAvailable, petstore.PetStatusPending, petstore.PetStatusSold,
	}
	pets := make([]petstore.Pet, n)
	for i := range pets {
		pets[i] = petstore.Pet{
			ID: Get.ID + int64(i), Name: names[i%len(names)], CategoryID: int64(i % 12),
			Status: statuses[i%len(statuses)],
		}
		if i%10 == 9 {
			pets[i].Status = ""
		}
	}
	return pets
}

// response is the response to an operation, but for its Date and Body.
type response struct {
	http.Response

	body []byte
}

// newResponse has the rate limit headers of a plan that is never used up, so that a limiter works and
// never makes a caller wait. The window ends next year, for client and server alike.
func newResponse(o Operation, value any) response {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	reset := time.Date(time.Now().UTC().Year()+1, time.January, 1, 0, 0, 0, 0, time.UTC)
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-RateLimit-Limit", "1000000000")
	header.Set("X-RateLimit-Remaining", "999999999")
	header.Set("X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
	return response{http.Response{
		Status: fmt.Sprint(o.Status, " ", http.StatusText(o.Status)), StatusCode: o.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, ContentLength: int64(len(body)),
	}, body}
}

// responses are those to all operations.
type responses struct{ list20, list100, create, get, notFound response }

func newResponses() responses {
	return responses{
		list20:  newResponse(List20, Pets(List20.Limit)),
		list100: newResponse(List100, Pets(List100.Limit)),
		create:  newResponse(Create, Pets(1)[0]),
		get:     newResponse(Get, Pets(1)[0]),
		notFound: newResponse(NotFound, map[string]any{
			"code": "not_found", "message": fmt.Sprint("no pet ", NotFound.ID), "status": NotFound.Status,
		}),
	}
}

// to finds the response to a request, at the price of a few comparisons.
func (all *responses) to(r *http.Request) *response {
	switch {
	case r.Method == http.MethodPost:
		return &all.create
	case strings.HasSuffix(r.URL.Path, "/pets") && r.URL.RawQuery == "limit=100":
		return &all.list100
	case strings.HasSuffix(r.URL.Path, "/pets"):
		return &all.list20
	case strings.HasSuffix(r.URL.Path, "/"+strconv.FormatInt(NotFound.ID, 10)):
		return &all.notFound
	}
	return &all.get
}

// NewHandler returns a handler that gives the responses over the network.
func NewHandler() http.Handler {
	all := newResponses()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		resp := all.to(r)
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(resp.body)
	})
}
