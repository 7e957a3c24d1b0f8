// Webhandler is a web server that does not let its visitors wait for the rate limit: it responds 503
// with the time after which to try again. It logs each call that failed, once.
//
//	go run ./examples/webhandler
//
// It prints
//
//	GET /pets: 200  []
//	POST /pets: 201  {"id":1,"name":"Rex","categoryId":1}
//	GET /pets: 503 60 try again later
//	POST /admin/reopen: 204
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// visitors returns the routes for visitors. WithMaxWait(0) makes a call fail immediately instead of
// waiting for the next minute.
func visitors(client *petstore.Client, logger *slog.Logger) http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /pets", func(w http.ResponseWriter, r *http.Request) {
		result, err := client.ListPets(r.Context(), petstore.ListPetsParams{},
			petstore.WithMaxWait(0), petstore.WithCallTimeout(2*time.Second))
		if err != nil {
			refuse(r.Context(), w, logger, err)
			return
		}
		respond(w, http.StatusOK, result.Pets)
	})
	routes.HandleFunc("POST /pets", func(w http.ResponseWriter, r *http.Request) {
		var pet petstore.NewPet
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&pet); err != nil {
			http.Error(w, "this is no pet", http.StatusBadRequest)
			return
		}
		// A visitor who hangs up must not leave a create whose outcome is unknown.
		result, err := client.CreatePet(context.WithoutCancel(r.Context()), pet,
			petstore.WithMaxWait(0), petstore.WithCallTimeout(10*time.Second))
		if err != nil {
			refuse(r.Context(), w, logger, err)
			return
		}
		respond(w, http.StatusCreated, result.Pet)
	})
	return routes
}

// reopen is for a port that visitors cannot reach. After a ban was lifted, or a larger plan was
// bought, it lets the client send again.
func reopen(client *petstore.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		client.ReopenLimit()
		w.WriteHeader(http.StatusNoContent)
	}
}

func respond(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // it fails only if the visitor is gone
}

// refuse logs why a call failed, and responds to its visitor. The error has attributes of its own:
// its call_id is on the lines of the client's log, too.
func refuse(ctx context.Context, w http.ResponseWriter, logger *slog.Logger, err error) {
	logger.ErrorContext(ctx, "pet store call failed", "error", err)
	wait, known := petstore.RetryAfter(err)
	switch {
	case errors.Is(err, petstore.ErrOutcomeUnknown): // first: a second try may add a second pet
		http.Error(w, "the pet may have been added: look before you add it again", http.StatusBadGateway)
	case errors.Is(err, petstore.ErrInvalidArgument), errors.Is(err, petstore.ErrBadRequest):
		http.Error(w, "this is no pet", http.StatusBadRequest)
	case known:
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
		http.Error(w, "try again later", http.StatusServiceUnavailable)
	case errors.Is(err, petstore.ErrTimeout):
		http.Error(w, "the pet store is slow", http.StatusGatewayTimeout)
	default:
		http.Error(w, "the pet store has a problem", http.StatusBadGateway)
	}
}

func main() {
	server := fake.NewServer(fake.WithPlan(fake.Plan{PerMinute: 2})) // two requests a minute
	defer server.Close()
	client := server.Client()
	routes := visitors(client, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	show := func(handler http.Handler, method, path, body string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body)))
		fmt.Println(strings.TrimSpace(fmt.Sprintf("%s %s: %d %s %s", method, path, w.Code, w.Header().Get("Retry-After"), w.Body)))
	}
	show(routes, "GET", "/pets", "")
	show(routes, "POST", "/pets", `{"name":"Rex","categoryId":1}`)
	show(routes, "GET", "/pets", "")
	show(reopen(client), "POST", "/admin/reopen", "")
}
