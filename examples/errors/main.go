// Errors causes each error that a call can return, on a fake of the service, and shows how to
// recognise it and what to do.
//
//	go run ./examples/errors
//
// It prints
//
//	...
//	A create that failed after it was carried out (never repeated)
//	...
//	  means:  the pet may have been added: check that before adding it again
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// handle shows what an application may do with the error of a call. The order matters: an error may
// match several.
func handle(err error) string {
	wait, known := petstore.RetryAfter(err)
	switch {
	case errors.Is(err, petstore.ErrOutcomeUnknown): // first: a second try may add a second pet
		return "the pet may have been added: check that before adding it again"
	case errors.Is(err, petstore.ErrStopped), errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded):
		return "this program was asked to stop, or gave the call too little time"
	case known:
		return "try again in " + wait.Round(time.Second).String()
	case errors.Is(err, petstore.ErrRateLimited): // how long is known only after the next response
		return "try again later"
	case errors.Is(err, petstore.ErrUnauthorized), errors.Is(err, petstore.ErrAPIKey):
		return "check the API key"
	case errors.Is(err, petstore.ErrNotFound):
		return "there is no such pet"
	case errors.Is(err, petstore.ErrInvalidArgument), errors.Is(err, petstore.ErrBadRequest):
		return "fix this program"
	case errors.Is(err, petstore.ErrTimeout):
		return "the service is slow: try again later"
	case errors.Is(err, petstore.ErrInvalidResponse):
		return "this is not the response of the service: check the network"
	}
	if e, ok := errors.AsType[*petstore.APIError](err); ok {
		return fmt.Sprintf("the service has a problem: status %d, attempts: %d", e.StatusCode, e.Attempts)
	}
	return "the service cannot be reached"
}

func main() {
	server := fake.NewServer()
	defer server.Close()
	run(context.Background(), server, os.Stdout)
}

func run(ctx context.Context, server *fake.Server, w io.Writer) {
	client := server.Client()
	show := func(what string, err error) {
		fmt.Fprintf(w, "%s\n  error:  %v\n  means:  %s\n\n", what, err, handle(err))
	}
	list := func(what string, opts ...petstore.CallOption) {
		_, err := client.ListPets(ctx, petstore.ListPetsParams{}, opts...)
		show(what, err)
	}
	html := http.Header{"Content-Type": {"text/html"}}
	once := petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1})

	_, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 101})
	show("An argument that the service document rules out", err)
	late, cancel := context.WithTimeout(ctx, 0)
	defer cancel()
	_, err = client.ListPets(late, petstore.ListPetsParams{})
	show("A deadline of the caller that has passed", err)
	other, _ := client.ForKey("unknown-key") // ForKey fails only for a text that cannot be a key
	_, err = other.ListPets(ctx, petstore.ListPetsParams{})
	show("An unknown key", err)
	_, err = client.GetPet(ctx, 404)
	show("A pet that does not exist", err)
	server.Inject(fake.Fault{Status: 502, Header: html, Body: []byte("<h1>Bad Gateway</h1>")})
	list("A proxy that cannot reach the service (retried by default)", once)
	server.Inject(fake.Fault{Status: 200, Header: html, Body: []byte("<h1>Log in</h1>")})
	list("A 200 that is not from the service")
	server.Inject(fake.Fault{Wire: fake.WireReset})
	list("A connection that breaks (retried by default)", once)
	server.Inject(fake.Fault{Delay: time.Second})
	list("A response that takes too long (retried by default)", once, petstore.WithAttemptTimeout(50*time.Millisecond))
	server.Inject(fake.Fault{AfterCommit: true, Status: 503})
	_, err = client.CreatePet(ctx, petstore.NewPet{Name: "Rex", CategoryID: 1})
	show("A create that failed after it was carried out (never repeated)", err)
	server.Inject(fake.Fault{Status: 429, RetryAfter: "3600"})
	list("A 429 with a Retry-After longer than WithMaxWait")
	list("The next call, which is refused before anything is sent")
}
