// Errors causes each error that a call can return, and shows how to recognise it and what to do.
//
//	go run ./examples/errors
//
// It runs on a fake of the service, which fails on demand. With PETSTORE_BASE_URL and
// PETSTORE_API_KEY it runs on a real service, and shows only the errors that a caller can cause.
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
	"os/signal"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if os.Getenv("PETSTORE_BASE_URL") != "" {
		err = onService(ctx, os.Stdout)
	} else {
		err = onFake(ctx, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// handle shows what an application may do with the error of a call: first it checks the types with
// fields that it needs, then the sentinels.
func handle(err error) string {
	if e, ok := errors.AsType[*petstore.ArgumentError](err); ok {
		return "fix this program: " + e.Argument + " " + e.Reason
	}
	if e, ok := errors.AsType[*petstore.RateLimitError](err); ok {
		if e.RetryAt.IsZero() { // not known before the next response
			return "try again later"
		}
		return "try again in " + max(0, time.Until(e.RetryAt)).Round(time.Second).String()
	}
	switch {
	case errors.Is(err, petstore.ErrOutcomeUnknown):
		return "the pet may have been added: check that before adding it again"
	case errors.Is(err, petstore.ErrUnauthorized):
		return "check the API key"
	case errors.Is(err, petstore.ErrNotFound):
		return "there is no such pet"
	case errors.Is(err, petstore.ErrInvalidResponse):
		return "this is not the response of the service: check the network"
	case errors.Is(err, context.Canceled):
		return "this program was asked to stop"
	case errors.Is(err, context.DeadlineExceeded):
		return "the deadline of this program has passed"
	}
	if e, ok := errors.AsType[*petstore.APIError](err); ok {
		return fmt.Sprintf("the service has a problem: status %d, attempts: %d", e.StatusCode, e.Attempts)
	}
	return "the service cannot be reached"
}

func show(w io.Writer, what string, err error) {
	fmt.Fprintf(w, "%s\n  error:  %v\n  means:  %s\n\n", what, err, handle(err))
}

// onService shows the errors that a caller can cause.
func onService(ctx context.Context, w io.Writer) error {
	client, err := petstore.NewClientFromEnv()
	if err == nil {
		showCallers(ctx, w, client)
	}
	return err
}

func onFake(ctx context.Context, w io.Writer) error {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client()
	showCallers(ctx, w, client)

	unknown, err := client.ForKey("unknown-key")
	if err != nil {
		return err
	}
	show(w, "An unknown key", list(ctx, unknown))
	_, err = client.GetPet(ctx, 404)
	show(w, "A pet that does not exist", err)
	showFailures(ctx, w, server, client)
	return nil
}

func showCallers(ctx context.Context, w io.Writer, client *petstore.Client) {
	_, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 101})
	show(w, "An argument that the service document rules out", err)

	ctx, cancel := context.WithDeadline(ctx, time.Now())
	defer cancel()
	show(w, "A deadline of the caller that has passed", list(ctx, client))
}

// showFailures makes the fake fail as a service or a proxy may fail.
func showFailures(ctx context.Context, w io.Writer, server *fake.Server, client *petstore.Client) {
	html := http.Header{"Content-Type": {"text/html"}}
	once := petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1})

	server.Inject(fake.Fault{Status: 502, Header: html, Body: []byte("<h1>Bad Gateway</h1>")})
	show(w, "A proxy that cannot reach the service (retried by default)", list(ctx, client, once))

	server.Inject(fake.Fault{Status: 200, Header: html, Body: []byte("<h1>Log in</h1>")})
	show(w, "A 200 that is not from the service", list(ctx, client))

	server.Inject(fake.Fault{Wire: fake.WireReset})
	show(w, "A connection that breaks (retried by default)", list(ctx, client, once))

	server.Inject(fake.Fault{AfterCommit: true, Status: 503})
	_, err := client.CreatePet(ctx, petstore.NewPet{Name: "Rex", CategoryID: 1})
	show(w, "A create that failed after it was carried out (never repeated)", err)

	server.Inject(fake.Fault{Status: 429, RetryAfter: "3600"})
	show(w, "A 429 with a Retry-After longer than WithMaxWait", list(ctx, client))
	show(w, "The next call, which is refused before anything is sent", list(ctx, client))
}

func list(ctx context.Context, client *petstore.Client, opts ...petstore.CallOption) error {
	_, err := client.ListPets(ctx, petstore.ListPetsParams{}, opts...)
	return err
}
