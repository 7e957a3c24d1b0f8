package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/petstore/petstore-go"
)

const baseURL, apiKey = "http://127.0.0.1/v1", "bench-api-key"

// client is one of the clients that are compared, used as its documentation shows.
type client struct {
	name string
	// call returns the typed value that the client gives to its user.
	call func(ctx context.Context, o operation) (any, error)
}

// clients returns the clients that send through a transport, the yardstick first.
func clients(transport http.RoundTripper) []client {
	retrying := retryablehttp.NewClient()
	retrying.Logger, retrying.HTTPClient.Transport = nil, transport
	all := []client{
		{"nethttp", byHand((&http.Client{Transport: transport}).Do)},
		ours(transport),
		{"go-retryablehttp", byHand(func(r *http.Request) (*http.Response, error) {
			wrapped, err := retryablehttp.FromRequest(r)
			if err != nil {
				return nil, err
			}
			return retrying.Do(wrapped)
		})},
	}
	return append(all, generated(transport)...)
}

// ours returns this repository's client as NewClient makes it: limiter, retries, strict decoding
// and the timeout of an attempt are on.
func ours(transport http.RoundTripper) client {
	c, err := petstore.NewClient(baseURL, apiKey, petstore.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		panic(err) // the arguments are constant
	}
	return client{"petstore-go", func(ctx context.Context, o operation) (any, error) {
		switch {
		case o.limit > 0:
			return c.ListPets(ctx, petstore.ListPetsParams{Limit: o.limit})
		case o.id > 0:
			return c.GetPet(ctx, o.id)
		}
		return c.CreatePet(ctx, newPet())
	}}
}

// byHand returns what a careful user writes with encoding/json around something that sends
// requests: with a timeout for each of them.
func byHand(send func(*http.Request) (*http.Response, error)) func(context.Context, operation) (any, error) {
	return func(ctx context.Context, o operation) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // the default of ours
		defer cancel()
		r, err := request(ctx, o)
		if err != nil {
			return nil, err
		}
		resp, err := send(r)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode/100 != 2 {
			var object struct{ Code, Message string }
			if err := json.Unmarshal(body, &object); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("status %d: %s: %s", resp.StatusCode, object.Code, object.Message)
		}
		if o.limit > 0 {
			var list []petstore.Pet
			return list, json.Unmarshal(body, &list)
		}
		var pet petstore.Pet
		return pet, json.Unmarshal(body, &pet)
	}
}

func request(ctx context.Context, o operation) (*http.Request, error) {
	method, url, body := http.MethodGet, baseURL+"/pets", io.Reader(nil)
	switch {
	case o.limit > 0:
		url += "?limit=" + strconv.Itoa(o.limit)
	case o.id > 0:
		url += "/" + strconv.FormatInt(o.id, 10)
	default:
		text, err := json.Marshal(newPet())
		if err != nil {
			return nil, err
		}
		method, body = http.MethodPost, bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{"Authorization": {"Bearer " + apiKey}, "Accept": {"application/json"}}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}
