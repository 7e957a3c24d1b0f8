package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// After an error of CreatePet there are three cases: the pet may have been created, nothing was
// sent, or the service refused the request.
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

// A handler does not let its own clients wait for the rate limit: it responds when to try again.
func ExampleRetryAfterHeader() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithMaxWait(0))
	handler := func(w http.ResponseWriter, r *http.Request) {
		result, err := client.ListPets(r.Context(), petstore.ListPetsParams{})
		if seconds, ok := petstore.RetryAfterHeader(err); ok {
			w.Header().Set("Retry-After", seconds)
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
