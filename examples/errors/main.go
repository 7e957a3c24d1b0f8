// Errors provokes each error a call can return and shows how to tell it from the others and what to do.
//
//	go run ./examples/errors
//
// It runs on a fake of the service, which fails on demand. A real one, named by PETSTORE_BASE_URL and
// PETSTORE_API_KEY, does not: there only what a caller can bring about is shown.
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

func main() {
	var err error
	if os.Getenv("PETSTORE_BASE_URL") != "" {
		err = onService(context.Background(), os.Stdout)
	} else {
		err = onFake(context.Background(), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// handle is what an application does with the error of a call: first the types that carry something to act
// upon, then the sentinels.
func handle(err error) string {
	if e, ok := errors.AsType[*petstore.ArgumentError](err); ok {
		return "a mistake in this program: " + e.Argument + " " + e.Reason
	}
	if e, ok := errors.AsType[*petstore.RateLimitError](err); ok {
		if e.RetryAt.IsZero() { // it is not known until an answer is here
			return "come back later"
		}
		return "come back in " + max(0, time.Until(e.RetryAt)).Round(time.Second).String()
	}
	switch {
	case errors.Is(err, petstore.ErrOutcomeUnknown):
		return "the animal may have been added: look before adding it again"
	case errors.Is(err, petstore.ErrUnauthorized):
		return "check the API key"
	case errors.Is(err, petstore.ErrNotFound):
		return "there is no such animal"
	case errors.Is(err, petstore.ErrInvalidResponse):
		return "something between us and the service answered"
	case errors.Is(err, context.DeadlineExceeded):
		return "our own deadline has passed"
	}
	if e, ok := errors.AsType[*petstore.APIError](err); ok {
		return fmt.Sprintf("the service is unwell: status %d, attempts: %d", e.StatusCode, e.Attempts)
	}
	return "the service cannot be reached"
}

func show(w io.Writer, what string, err error) {
	fmt.Fprintf(w, "%s\n  error:  %v\n  so:     %s\n\n", what, err, handle(err))
}

// onService shows the errors that need no failing service.
func onService(ctx context.Context, w io.Writer) error {
	client, err := petstore.NewClientFromEnv()
	if err != nil {
		return err
	}
	showArgument(ctx, w, client)
	showDeadline(ctx, w, client)
	return nil
}

func onFake(ctx context.Context, w io.Writer) error {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client()

	showArgument(ctx, w, client)
	showDeadline(ctx, w, client)

	stranger, err := petstore.NewClient("http://localhost/v1", "another-key",
		petstore.WithHTTPClient(server.HTTPClient()))
	if err != nil {
		return err
	}
	_, err = stranger.ListPets(ctx, petstore.ListPetsParams{})
	show(w, "A key that the service does not know", err)

	_, err = client.GetPet(ctx, 404) //nolint:staticcheck // deprecated; the only operation that answers 404
	show(w, "An animal that is not there", err)

	showFailures(ctx, w, server, client)
	return nil
}

// showFailures has the fake fail, in ways that a service and what lies before it do.
func showFailures(ctx context.Context, w io.Writer, server *fake.Server, client *petstore.Client) {
	html := http.Header{"Content-Type": {"text/html"}}
	once := petstore.RetryPolicy{MaxAttempts: 1}

	server.Inject(fake.Fault{Status: 502, Header: html, Body: []byte("<h1>Bad Gateway</h1>")})
	_, err := client.ListPets(ctx, petstore.ListPetsParams{}, petstore.WithRetryPolicy(once))
	show(w, "A proxy that has lost the service (retried, unless told otherwise)", err)

	server.Inject(fake.Fault{Status: 200, Header: html, Body: []byte("<h1>Log in</h1>")})
	_, err = client.ListPets(ctx, petstore.ListPetsParams{})
	show(w, "A success that is none", err)

	server.Inject(fake.Fault{Wire: fake.WireReset})
	_, err = client.ListPets(ctx, petstore.ListPetsParams{}, petstore.WithRetryPolicy(once))
	show(w, "A connection that breaks (retried, too)", err)

	server.Inject(fake.Fault{AfterCommit: true, Status: 503})
	_, err = client.CreatePet(ctx, petstore.NewPet{Name: "Rex", CategoryID: 1})
	show(w, "A create that failed after it was carried out (never repeated)", err)

	server.Inject(fake.Fault{Status: 429, RetryAfter: "3600"})
	_, err = client.ListPets(ctx, petstore.ListPetsParams{})
	show(w, "A closed gate, for longer than WithMaxWait", err)

	_, err = client.ListPets(ctx, petstore.ListPetsParams{})
	show(w, "The next call, refused before anything is sent", err)
}

func showArgument(ctx context.Context, w io.Writer, client *petstore.Client) {
	_, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 101})
	show(w, "An argument that the service document rules out", err)
}

func showDeadline(ctx context.Context, w io.Writer, client *petstore.Client) {
	ctx, cancel := context.WithDeadline(ctx, time.Now())
	defer cancel()
	_, err := client.ListPets(ctx, petstore.ListPetsParams{})
	show(w, "A deadline of the caller's that has passed", err)
}
