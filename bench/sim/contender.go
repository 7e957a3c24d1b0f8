package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// client is one process's way to call the service.
type client interface {
	// list calls listPets once, as often as it takes.
	list(ctx context.Context) error
}

// program returns a function that makes the clients of one program, which send through via.
type program func(c cell, via http.RoundTripper) func() client

// contender is a way to call the service.
type contender struct {
	name, text string
	program    program
}

// clients returns the n clients of a cell: of one program or, if they are unaware of each other, of
// one program each.
func (k contender) clients(c cell, via http.RoundTripper, n int) []client {
	newClient, clients := k.program(c, via), make([]client, n)
	for i := range clients {
		if c.condition.unaware || c.burst.before.restart {
			newClient = k.program(c, via)
		}
		clients[i] = newClient()
	}
	return clients
}

// contenders returns all of them, ours first.
func contenders() []contender {
	return []contender{
		{
			name: "petstore-go", program: petstoreProgram(false),
			text: "`petstore.NewClient` as it comes, with `WithMaxWait(time.Hour)`",
		},
		{
			name: "serial", program: retryableProgram(newSerial),
			text: "one request in flight; waits for Reset when nothing is left, and for Retry-After after a 429, as " +
				"discord.js, twilight, nirn-proxy and prawcore do",
		},
		{
			name: "counter", program: retryableProgram(newCounter),
			text: "counts down from the lowest Remaining; one request goes ahead at the end of a window and after " +
				"a 429",
		},
	}
}

const baseURL = "https://pets.example/v1"

// petstoreClient makes a call of a load once. In a job it waits until RetryAt, as a
// batch job does, and makes the call again.
type petstoreClient struct {
	*petstore.Client

	once bool
}

func (p petstoreClient) list(ctx context.Context) error {
	for {
		_, err := p.ListPets(ctx, petstore.ListPetsParams{Limit: 1})
		limited, ok := errors.AsType[*petstore.RateLimitError](err)
		if p.once || !ok || limited.RetryAt.IsZero() || ctx.Err() != nil {
			return err
		}
		if err := sleep(ctx, time.Until(limited.RetryAt)); err != nil {
			return err
		}
		inTurn(ctx)
	}
}

// petstoreProgram makes clients with one limiter, which may know how many programs there are.
func petstoreProgram(knows bool) program {
	return func(c cell, via http.RoundTripper) func() client {
		limiter := petstore.NewLimiter()
		if knows {
			limiter = petstore.NewLimiter(petstore.Processes(c.condition.clients))
		}
		opts := []petstore.Option{petstore.WithHTTPClient(&http.Client{Transport: via}), petstore.WithLimiter(limiter)}
		switch {
		case c.load.noWait:
			opts = append(opts, petstore.WithMaxWait(0))
		case c.load.percent == 0 && c.burst.calls == 0:
			opts = append(opts, petstore.WithMaxWait(time.Hour))
		}
		return func() client {
			p, err := petstore.NewClient(baseURL, fake.DefaultAPIKey, opts...)
			if err != nil {
				panic(err) // the arguments are constants
			}
			return petstoreClient{p, c.load.percent > 0 || c.burst.calls > 0}
		}
	}
}

// retryableClient uses go-retryablehttp as its documentation shows.
type retryableClient struct{ *retryablehttp.Client }

func (r retryableClient) list(ctx context.Context) error {
	req, err := newRequest(ctx)
	if err != nil {
		return err
	}
	return outcome(r.Do(&retryablehttp.Request{Request: req})) //nolint:bodyclose // outcome closes it
}

// retryableProgram makes clients that share the transport that wrap puts ahead of via.
func retryableProgram(wrap func(cell, http.RoundTripper) http.RoundTripper) program {
	return func(c cell, via http.RoundTripper) func() client {
		shared := wrap(c, via)
		return func() client {
			r := retryablehttp.NewClient()
			r.Logger = nil
			r.HTTPClient = &http.Client{Transport: shared}
			return retryableClient{r}
		}
	}
}

func newRequest(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/pets?limit=1", http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+fake.DefaultAPIKey)
	return req, nil
}

// outcome reads a response to its end, and returns nil if it is the documented one.
func outcome(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}
