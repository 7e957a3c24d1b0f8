package peer

import (
	"context"
	"net/http"
	"strconv"

	"github.com/imroc/req/v3"

	"github.com/petstore/petstore-go/bench/internal/canned"
)

// reqClient is req with its defaults.
type reqClient struct {
	wireReader
	client *req.Client
}

func newReq(t Target) (Client, error) {
	client := req.C()
	if t.IdleConns > 0 {
		client.Transport.MaxIdleConns, client.Transport.MaxIdleConnsPerHost = t.IdleConns, t.IdleConns
	}
	if t.Transport != nil { // its own cannot be replaced, but bypassed
		client.Transport.WrapRoundTripFunc(func(http.RoundTripper) req.HttpRoundTripFunc {
			return t.Transport.RoundTrip
		})
	}
	client.SetBaseURL(t.BaseURL).SetCommonBearerAuthToken(APIKey).
		SetCommonHeader("Accept", "application/json").SetUserAgent("bench/1.0")
	return &reqClient{client: client}, nil
}

// Call implements [Client].
func (c *reqClient) Call(ctx context.Context, o canned.Operation) (any, error) {
	var fault wireError
	request := c.client.R().SetContext(ctx).SetErrorResult(&fault)
	switch o {
	case canned.List20, canned.List100:
		var r wireResult
		request.SetQueryParam("limit", strconv.Itoa(o.Limit())).SetSuccessResult(&r.pets)
		return finishReq(&r, &fault)(request.Get("/pets"))
	case canned.Create:
		r := wireResult{pets: make([]wirePet, 1)}
		request.SetBodyJsonMarshal(wireNewPet(canned.NewPet)).SetSuccessResult(&r.pets[0])
		return finishReq(&r, &fault)(request.Post("/pets"))
	case canned.Get, canned.NotFound:
	}
	r := wireResult{pets: make([]wirePet, 1)}
	request.SetPathParam("id", strconv.FormatInt(o.ID(), 10)).SetSuccessResult(&r.pets[0])
	return finishReq(&r, &fault)(request.Get("/pets/{id}"))
}

// finishReq fills r with the status and the rate limit of a response, or returns its error.
func finishReq(r *wireResult, fault *wireError) func(*req.Response, error) (any, error) {
	return func(resp *req.Response, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		r.status, r.limit = resp.StatusCode, rateLimit(resp.Header)
		if resp.IsErrorState() {
			return nil, &apiError{*fault, r.limit}
		}
		return r, nil
	}
}
