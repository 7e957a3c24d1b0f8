package peer

import (
	"context"
	"net/http"
	"strconv"

	"resty.dev/v3"

	"github.com/petstore/petstore-go/bench/internal/canned"
)

// restyClient is resty with its defaults.
type restyClient struct {
	wireReader
	client *resty.Client
}

func newResty(t Target) (Client, error) {
	client := resty.New()
	if t.IdleConns > 0 {
		client = resty.NewWithTransportSettings(&resty.TransportSettings{
			MaxIdleConns: t.IdleConns, MaxIdleConnsPerHost: t.IdleConns,
		})
	}
	if t.Transport != nil {
		client.SetTransport(t.Transport)
	}
	client.SetBaseURL(t.BaseURL).SetAuthToken(APIKey).SetLoggerWarnLevel(true).
		SetHeader("Accept", "application/json").SetHeader("User-Agent", "bench/1.0")
	return &restyClient{client: client}, nil
}

// Call implements [Client].
func (c *restyClient) Call(ctx context.Context, o canned.Operation) (any, error) {
	switch o {
	case canned.List20, canned.List100:
		var r wireResult
		request := c.request(ctx).SetQueryParam("limit", strconv.Itoa(o.Limit())).SetResult(&r.pets)
		return finishResty(&r)(request.Get("/pets"))
	case canned.Create:
		r := wireResult{pets: make([]wirePet, 1)}
		request := c.request(ctx).SetBody(wireNewPet(canned.NewPet)).SetResult(&r.pets[0])
		return finishResty(&r)(request.Post("/pets"))
	case canned.Get, canned.NotFound:
	}
	r := wireResult{pets: make([]wirePet, 1)}
	request := c.request(ctx).SetPathParam("id", strconv.FormatInt(o.ID(), 10)).SetResult(&r.pets[0])
	return finishResty(&r)(request.Get("/pets/{id}"))
}

func (c *restyClient) request(ctx context.Context) *resty.Request {
	return c.client.R().SetContext(ctx).SetResultError(&wireError{})
}

// finishResty fills r with the status and the rate limit of a response, or returns its error.
func finishResty(r *wireResult) func(*resty.Response, error) (any, error) {
	return func(resp *resty.Response, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		r.status, r.limit = resp.StatusCode(), rateLimit(resp.Header())
		if e, ok := resp.ResultError().(*wireError); ok && r.status >= http.StatusBadRequest {
			return nil, &apiError{*e, r.limit}
		}
		return r, nil
	}
}
