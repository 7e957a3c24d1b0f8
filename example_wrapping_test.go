package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"sync/atomic"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// middleware is a transport that counts requests, and gives each an id for the service's support.
type middleware struct {
	next     http.RoundTripper
	requests *atomic.Int64
}

func (m middleware) RoundTrip(r *http.Request) (*http.Response, error) {
	m.requests.Add(1)
	call, _ := petstore.CallFromContext(r.Context())
	r.Header.Set("X-Request-ID", fmt.Sprintf("%s-%d", call.ID, call.Attempt)) // the header is of this request alone
	return m.next.RoundTrip(r)
}

// Unwrap lets the client see the connections of the wrapped transport.
func (m middleware) Unwrap() http.RoundTripper { return m.next }

// Middleware around the transport of the client.
func ExampleWithTransport() {
	server := fake.NewServer()
	defer server.Close()
	var requests atomic.Int64
	client := server.Client(petstore.WithTransport(func(next http.RoundTripper) http.RoundTripper { return middleware{next, &requests} }))
	if _, err := client.ListPets(context.Background(), petstore.ListPetsParams{}); err != nil {
		log.Fatal(err)
	}
	id := server.Requests()[0].Header.Get("X-Request-ID")
	fmt.Println(requests.Load(), "request with an id of", len(id), "characters")
	// Output: 1 request with an id of 18 characters
}

// catalogue is what a program uses of a *petstore.Client, so that a test can have a mock in its
// place.
type catalogue interface {
	ListPets(context.Context, petstore.ListPetsParams, ...petstore.CallOption) (*petstore.ListPetsResult, error)
}

var _ catalogue = (*petstore.Client)(nil)

type mock struct{ err error }

func (m mock) ListPets(context.Context, petstore.ListPetsParams, ...petstore.CallOption) (*petstore.ListPetsResult, error) {
	return &petstore.ListPetsResult{Pets: []petstore.Pet{{ID: 1, Name: "Rex"}}}, m.err
}

// A mock returns results and errors that are built by hand. A fake of the service tests more: see
// package fake.
func Example_mock() {
	count := func(c catalogue) string { // the code under test
		result, err := c.ListPets(context.Background(), petstore.ListPetsParams{})
		if errors.Is(err, petstore.ErrRateLimited) {
			return "busy"
		}
		return fmt.Sprint(len(result.Pets))
	}
	fmt.Println(count(mock{}), count(mock{&petstore.RateLimitError{}}))
	// Output: 1 busy
}

// Four processes share one key, and each is told how many they are. With NewClientFromEnv, set
// PETSTORE_PROCESSES=4 instead.
func ExampleWithProcesses() {
	server := fake.NewServer(fake.WithPlan(fake.PlanFree)) // 60 requests a minute
	defer server.Close()

	var processes []*petstore.Client
	for range 4 {
		processes = append(processes, server.Client(petstore.WithProcesses(4)))
	}
	for range 6 {
		for _, client := range processes {
			if _, err := client.ListPets(context.Background(), petstore.ListPetsParams{}); err != nil {
				fmt.Println(err)
			}
		}
	}
	usage := server.Usage(server.APIKey())
	fmt.Println(usage.Minute, "requests,", usage.Limited, "429s")
	// Output: 24 requests, 0 429s
}
