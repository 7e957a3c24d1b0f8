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
	// call lists pets or, if limit is 0, creates a pet. It returns the typed value that the client
	// gives to its user.
	call func(ctx context.Context, limit int) (any, error)
}

// clients returns the clients that are not generated. They send through transport. The others are
// compared with the first one.
func clients(transport http.RoundTripper) []client {
	retrying := retryablehttp.NewClient()
	retrying.Logger, retrying.HTTPClient.Transport = nil, transport
	return []client{
		{"nethttp", byHand((&http.Client{Transport: transport}).Do)},
		{"petstore-go", ours(transport)},
		{"go-retryablehttp", byHand(func(r *http.Request) (*http.Response, error) {
			wrapped, err := retryablehttp.FromRequest(r)
			if err != nil {
				return nil, err
			}
			return retrying.Do(wrapped)
		})},
	}
}

// newPet returns the pet that is created.
func newPet() petstore.NewPet {
	return petstore.NewPet{Name: "Mia", CategoryID: 3, Status: petstore.PetStatusAvailable}
}

// ours calls this repository's client as NewClient makes it: limiter, retries, strict decoding and
// the timeout of an attempt are on.
func ours(transport http.RoundTripper) func(context.Context, int) (any, error) {
	c, err := petstore.NewClient(baseURL, apiKey, petstore.WithHTTPClient(&http.Client{Transport: transport}))
	return func(ctx context.Context, limit int) (any, error) {
		if err != nil {
			return nil, err
		} else if limit > 0 {
			return c.ListPets(ctx, petstore.ListPetsParams{Limit: limit})
		}
		return c.CreatePet(ctx, newPet())
	}
}

// byHand returns what a careful user would write: encoding/json around send, with a timeout for
// each request.
func byHand(send func(*http.Request) (*http.Response, error)) func(context.Context, int) (any, error) {
	return func(ctx context.Context, limit int) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // the default timeout of petstore-go
		defer cancel()
		if limit > 0 {
			var pets []petstore.Pet
			return &pets, roundTrip(ctx, send, http.MethodGet, "/pets?limit="+strconv.Itoa(limit), nil, &pets)
		}
		var pet petstore.Pet
		body, err := json.Marshal(newPet())
		if err != nil {
			return nil, err
		}
		return &pet, roundTrip(ctx, send, http.MethodPost, "/pets", bytes.NewReader(body), &pet)
	}
}

func roundTrip(
	ctx context.Context, send func(*http.Request) (*http.Response, error), method, path string, body io.Reader, out any,
) error {
	r, err := http.NewRequestWithContext(ctx, method, baseURL+path, body)
	if err != nil {
		return err
	}
	r.Header = http.Header{"Authorization": {"Bearer " + apiKey}, "Accept": {"application/json"}}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := send(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}
