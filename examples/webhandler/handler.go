package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/petstore/petstore-go"
)

// serve serves visitors until ctx ends. Then it lets their requests finish: a create that is cut
// off has an unknown outcome.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := http.Server{
		// A page of another site must not add pets with the rights of its visitors.
		Handler:           http.NewCrossOriginProtection().Handler(handler),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second, // longer than ReadTimeout plus the longest call, 10 + 10 s
	}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), server.WriteTimeout)
		defer cancel()
		ended <- server.Shutdown(limited)
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

// visitors returns the routes for visitors. WithMaxWait(0) makes a call fail immediately instead of
// waiting for the next minute.
func visitors(client *petstore.Client, logger *slog.Logger) http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /pets", func(w http.ResponseWriter, r *http.Request) {
		result, err := client.ListPets(r.Context(), petstore.ListPetsParams{},
			petstore.WithMaxWait(0), petstore.WithCallTimeout(2*time.Second))
		if err != nil {
			refuse(w, r, logger, err)
			return
		}
		respond(w, http.StatusOK, result.Pets)
	})
	routes.HandleFunc("POST /pets", func(w http.ResponseWriter, r *http.Request) {
		pet, err := readPet(http.MaxBytesReader(w, r.Body, 1<<16))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		// A visitor who hangs up must not leave a create whose outcome is unknown.
		result, err := client.CreatePet(context.WithoutCancel(r.Context()), pet,
			petstore.WithMaxWait(0), petstore.WithCallTimeout(10*time.Second))
		if err != nil {
			refuse(w, r, logger, err)
			return
		}
		respond(w, http.StatusCreated, result.Pet)
	})
	return routes
}

// readPet reads what a visitor has sent. It does not decode into a petstore.NewPet, which cannot
// tell a missing field from a zero: {"name":"Rex"} would get the category 0.
func readPet(body io.Reader) (petstore.NewPet, error) {
	var input struct {
		Name       *string            `json:"name"`
		CategoryID *int64             `json:"categoryId"`
		Status     petstore.PetStatus `json:"status"`
	}
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&input)
	if _, more := decoder.Token(); err != nil || !errors.Is(more, io.EOF) {
		return petstore.NewPet{}, errors.New("the body is not one pet as JSON, with only name, categoryId and status")
	}
	if input.Name == nil || input.CategoryID == nil {
		return petstore.NewPet{}, errors.New("name and categoryId are required")
	}
	return petstore.NewPet{Name: *input.Name, CategoryID: *input.CategoryID, Status: input.Status}, nil
}

func respond(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // it fails only if the visitor is gone
}

// refuse responds to a visitor whose call failed. It logs the error, unless the visitor has caused
// it. The call_id of the error is also in the lines that the client itself logs.
func refuse(w http.ResponseWriter, r *http.Request, logger *slog.Logger, err error) {
	if errors.Is(err, petstore.ErrInvalidArgument) {
		http.Error(w, "this is no pet", http.StatusBadRequest)
		return
	} else if errors.Is(err, context.Canceled) && r.Context().Err() != nil { // the visitor has hung up
		return
	}
	logger.ErrorContext(r.Context(), "pet store call failed", "error", err)
	retryAfter, known := petstore.RetryAfterHeader(err)
	if known {
		w.Header().Set("Retry-After", retryAfter)
	}
	switch {
	case errors.Is(err, petstore.ErrOutcomeUnknown): // the first case: to try again may add another pet
		http.Error(w, "the pet may have been added: look before you add it again", http.StatusBadGateway)
	case errors.Is(err, petstore.ErrBadRequest):
		http.Error(w, "the pet store refuses this pet", http.StatusBadRequest)
	case known, errors.Is(err, petstore.ErrRateLimited): // the time is not known before the first response
		http.Error(w, "try again later", http.StatusServiceUnavailable)
	case errors.Is(err, petstore.ErrTimeout):
		http.Error(w, "the pet store is slow", http.StatusGatewayTimeout)
	default:
		http.Error(w, "the pet store has a problem", http.StatusBadGateway)
	}
}
