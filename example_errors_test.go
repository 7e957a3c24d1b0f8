package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func ExampleAPIError() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client()
	server.Inject(fake.Fault{Status: http.StatusForbidden, Code: "suspended", Message: "the account is suspended"})

	_, err := client.ListPets(context.Background(), petstore.ListPetsParams{})
	if e, ok := errors.AsType[*petstore.APIError](err); ok {
		fmt.Println(e.StatusCode, e.Code, e.Message, e.RateLimit.Limit)
	}
	fmt.Println(err)
	// Output:
	// 403 suspended the account is suspended 1000
	// petstore: listPets: 403 suspended: "the account is suspended"
}

// After an error of CreatePet there are three cases: the pet may have been created, nothing was sent,
// or the service refused the request.
func ExampleClient_CreatePet_errors() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithMaxWait(0))
	server.Inject(fake.Fault{AfterCommit: true, Wire: fake.WireReset}) // the response is lost
	server.Inject(fake.Fault{Status: http.StatusBadRequest})
	server.Inject(fake.Fault{Status: http.StatusTooManyRequests, RetryAfter: "90"})

	for range 4 {
		_, err := client.CreatePet(context.Background(), petstore.NewPet{Name: "Rex", CategoryID: 1})
		after, _ := petstore.RetryAfter(err)
		switch {
		case errors.Is(err, petstore.ErrOutcomeUnknown):
			fmt.Println("look whether there is a pet before you send it again")
		case errors.Is(err, petstore.ErrNotSent):
			fmt.Println("not sent: try again in", after.Round(time.Second))
		case err != nil:
			fmt.Println("refused: try again in", after.Round(time.Second))
		}
	}
	// Output:
	// look whether there is a pet before you send it again
	// refused: try again in 0s
	// refused: try again in 1m30s
	// not sent: try again in 1m30s
}

// If the wait would exceed WithMaxWait, the call fails immediately.
func ExampleRateLimitError() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithMaxWait(time.Minute))
	server.Inject(fake.Fault{Status: http.StatusTooManyRequests, RetryAfter: "3600"})

	_, err := client.ListPets(context.Background(), petstore.ListPetsParams{})
	if e, ok := errors.AsType[*petstore.RateLimitError](err); ok {
		fmt.Println("come back in", time.Until(e.RetryAt).Round(time.Minute))
	}
	// Output: come back in 1h0m0s
}

func ExampleArgumentError() {
	client, err := petstore.NewClient("https://petstore.example.com/v1", "my-api-key")
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.ListPets(context.Background(), petstore.ListPetsParams{Limit: 101}) // nothing is sent
	fmt.Println(err)
	// Output: petstore: listPets: Limit: must be 1 to 100, or 0 for the service's default
}

func ExampleResponseError() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client()
	server.Inject(fake.Fault{
		Status: http.StatusOK,
		Header: http.Header{"Content-Type": {"text/html"}},
		Body:   []byte("<h1>Please log in</h1>"),
	})

	_, err := client.ListPets(context.Background(), petstore.ListPetsParams{})
	if e, ok := errors.AsType[*petstore.ResponseError](err); ok {
		fmt.Println(e.StatusCode, e.Reason)
	}
	// Output: 200 Content-Type is "text/html", not application/json
}

func ExampleTransportError() {
	server := fake.NewServer()
	defer server.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("shutting down"))

	_, err := server.Client().ListPets(ctx, petstore.ListPetsParams{})
	if e, ok := errors.AsType[*petstore.TransportError](err); ok {
		fmt.Println(e.Attempts, errors.Is(err, petstore.ErrNotSent), errors.Is(err, context.Canceled))
	}
	fmt.Println(err)
	// Output:
	// 0 true true
	// petstore: listPets: context canceled: shutting down
}

// A handler does not let its own clients wait for the rate limit: it responds when to try again.
func ExampleRateLimitError_RetryAfterHeader() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithMaxWait(0))
	handler := func(w http.ResponseWriter, r *http.Request) {
		result, err := client.ListPets(r.Context(), petstore.ListPetsParams{})
		if limited, ok := errors.AsType[*petstore.RateLimitError](err); ok {
			w.Header().Set("Retry-After", limited.RetryAfterHeader()) // the seconds until limited.RetryAt
			http.Error(w, "try again later", http.StatusServiceUnavailable)
			return
		}
		if err != nil {
			http.Error(w, "no pets today", http.StatusBadGateway)
			return
		}
		fmt.Fprintln(w, len(result.Pets), "pets")
	}

	server.Inject(fake.Fault{Status: http.StatusTooManyRequests, RetryAfter: "90"})
	w := httptest.NewRecorder()
	handler(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Code, "Retry-After:", w.Header().Get("Retry-After"))
	// Output: 503 Retry-After: 90
}
