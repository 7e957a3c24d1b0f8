package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"golang.org/x/time/rate"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// client is one process's way to call the service.
type client interface {
	// list calls listPets once, as often as it takes.
	list(ctx context.Context) error
}

// contender is a way to call the service.
type contender struct {
	name, text string
	// clients returns the n clients of the cell, which send through via.
	clients func(c cell, via http.RoundTripper, n int) []client
}

// contenders returns all of them, ours first.
func contenders() []contender {
	return []contender{
		{"petstore-go", "`petstore.NewClient` as it comes, with `WithMaxWait(time.Hour)`", petstoreClients(false)},
		{
			"net/http",
			"`net/http` in a loop of up to 8 attempts that sleeps 1 s, 2 s, 4 s, … after all but a 200",
			plainClients,
		},
		{"retryablehttp", "`go-retryablehttp` with its defaults", retryableClients},
		{
			"retryablehttp + rate",
			"the same behind a `golang.org/x/time/rate` limiter that knows the plan: a token every 1/limit minute, " +
				"burst 1, taken by every attempt",
			pacedClients,
		},
		{
			"ATB", "the same behind the adaptive token bucket of arXiv 2510.04516, with steps of our own",
			governedClients(newTokenBucket, false),
		},
		{
			"PRAW", "the same behind a pace by Remaining and Reset, as PRAW has it",
			governedClients(newPRAW, false),
		},
		{
			"AWS adaptive", "the same behind the rate limiter of the AWS SDKs' adaptive retry mode",
			governedClients(newAWS, false),
		},
	}
}

const baseURL = "https://pets.example/v1"

// petstoreClient makes a call of a load once. In a job it does what a batch job does: a call that
// is told to come back later, comes back.
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

// petstoreClients returns clients with a limiter for all or, if they are unaware, one for each,
// which may be told how many there are.
func petstoreClients(told bool) func(cell, http.RoundTripper, int) []client {
	return func(c cell, via http.RoundTripper, n int) []client {
		opts := []petstore.Option{petstore.WithHTTPClient(&http.Client{Transport: via})}
		switch {
		case c.load.noWait:
			opts = append(opts, petstore.WithMaxWait(0))
		case c.load.percent == 0:
			opts = append(opts, petstore.WithMaxWait(time.Hour))
		}
		shared := petstore.NewLimiter()
		return repeat(n, func() client {
			limiter := shared
			switch {
			case told:
				limiter = petstore.NewLimiter(petstore.Processes(n))
			case c.condition.unaware:
				limiter = petstore.NewLimiter()
			}
			p, err := petstore.NewClient(baseURL, fake.DefaultAPIKey, append(opts, petstore.WithLimiter(limiter))...)
			if err != nil {
				panic(err) // the arguments are constants
			}
			return petstoreClient{p, c.load.percent > 0}
		})
	}
}

// plainClient is the loop that is written first.
type plainClient struct{ *http.Client }

func (p plainClient) list(ctx context.Context) error {
	const attempts = 8
	var err error
	for i := range attempts {
		if i > 0 {
			if err := sleep(ctx, time.Second<<(i-1)); err != nil {
				return err
			}
		}
		req, invalid := newRequest(ctx)
		if invalid != nil {
			return invalid
		}
		resp, failure := p.Do(req) //nolint:bodyclose // outcome closes it
		if err = outcome(resp, failure); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func plainClients(_ cell, via http.RoundTripper, n int) []client {
	return repeat(n, func() client { return plainClient{&http.Client{Transport: via}} })
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

func newRetryable(via http.RoundTripper) client {
	r := retryablehttp.NewClient()
	r.Logger = nil
	r.HTTPClient = &http.Client{Transport: via}
	return retryableClient{r}
}

func retryableClients(_ cell, via http.RoundTripper, n int) []client {
	return repeat(n, func() client { return newRetryable(via) })
}

// paced waits for a token before every attempt.
type paced struct {
	http.RoundTripper
	tokens *rate.Limiter
}

func (p paced) RoundTrip(r *http.Request) (*http.Response, error) {
	inTurn(r.Context())
	if err := p.tokens.Wait(r.Context()); err != nil {
		return nil, err
	}
	return p.RoundTripper.RoundTrip(r)
}

func pacedClients(c cell, via http.RoundTripper, n int) []client {
	tokens := func() *rate.Limiter { return rate.NewLimiter(rate.Limit(float64(c.perMinute)/60), 1) }
	shared := tokens()
	return repeat(n, func() client {
		if c.condition.unaware {
			return newRetryable(paced{via, tokens()})
		}
		return newRetryable(paced{via, shared})
	})
}

func repeat(n int, newClient func() client) []client {
	clients := make([]client, n)
	for i := range clients {
		clients[i] = newClient()
	}
	return clients
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
