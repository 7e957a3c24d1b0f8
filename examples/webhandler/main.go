// Webhandler is a web server that does not let its own clients wait for the rate limit: it responds
// 503 with the time after which to try again.
//
//	go run ./examples/webhandler
//
// It prints
//
//	200  []
//	200  []
//	503 60 try again later
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// budget is the time that a visitor waits at most.
const budget = 2 * time.Second

// pets returns a handler that lists the available pets.
func pets(client *petstore.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), budget)
		defer cancel()
		result, err := client.ListPets(ctx, petstore.ListPetsParams{Status: petstore.PetStatusAvailable},
			petstore.WithMaxWait(0)) // fail immediately in place of a wait for the next minute
		if wait, ok := petstore.RetryAfter(err); ok { // of the limit, or of a 503 of the service
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
			http.Error(w, "try again later", http.StatusServiceUnavailable)
			return
		}
		if err != nil {
			http.Error(w, "the pet store has a problem", http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result.Pets) // it fails only if the visitor is gone
	}
}

func main() {
	server := fake.NewServer(fake.WithPlan(fake.Enterprise(2, 0))) // two requests a minute
	defer server.Close()
	handler := pets(server.Client())
	for range 3 {
		w := httptest.NewRecorder()
		handler(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/pets", nil))
		fmt.Println(w.Code, w.Header().Get("Retry-After"), w.Body)
	}
}
