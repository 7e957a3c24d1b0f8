package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/petstore/petstore-go/bench/internal/canned"
)

// plain is what a careful user writes with encoding/json around an engine that sends requests.
type plain struct {
	wireReader
	baseURL string
	timeout time.Duration // of a request with its body; 0: none
	send    func(ctx context.Context, method, url string, body []byte) (*http.Response, error)
}

// attemptTimeout is the default of ours.
const attemptTimeout = 30 * time.Second

// newNetHTTP returns the yardstick: net/http with a timeout for each request.
func newNetHTTP(t Target) (Client, error) {
	client := &http.Client{Transport: t.transport()}
	send := func(ctx context.Context, method, url string, body []byte) (*http.Response, error) {
		var r io.Reader
		if body != nil {
			r = bytes.NewReader(body)
		}
		req, err := http.NewRequestWithContext(ctx, method, url, r)
		if err != nil {
			return nil, err
		}
		setHeader(req.Header, body != nil)
		return client.Do(req)
	}
	return &plain{baseURL: t.BaseURL, timeout: attemptTimeout, send: send}, nil
}

// newRetryable returns go-retryablehttp with its defaults, but silent.
func newRetryable(t Target) (Client, error) {
	client := retryablehttp.NewClient()
	client.Logger = nil
	if own, ok := client.HTTPClient.Transport.(*http.Transport); ok && t.IdleConns > 0 {
		own.MaxIdleConns, own.MaxIdleConnsPerHost = t.IdleConns, t.IdleConns
	}
	if t.Transport != nil {
		client.HTTPClient.Transport = t.Transport
	}
	send := func(ctx context.Context, method, url string, body []byte) (*http.Response, error) {
		var raw any
		if body != nil {
			raw = body
		}
		req, err := retryablehttp.NewRequestWithContext(ctx, method, url, raw)
		if err != nil {
			return nil, err
		}
		setHeader(req.Header, body != nil)
		return client.Do(req)
	}
	return &plain{baseURL: t.BaseURL, send: send}, nil
}

func setHeader(h http.Header, body bool) {
	h.Set("Authorization", "Bearer "+APIKey)
	h.Set("Accept", "application/json")
	h.Set("User-Agent", "bench/1.0")
	if body {
		h.Set("Content-Type", "application/json")
	}
}

// Call implements [Client].
func (c *plain) Call(ctx context.Context, o canned.Operation) (any, error) {
	switch o {
	case canned.List20, canned.List100:
		return c.list(ctx, o.Limit())
	case canned.Create:
		return c.create(ctx, wireNewPet(canned.NewPet))
	case canned.Get, canned.NotFound:
	}
	return c.get(ctx, o.ID())
}

func (c *plain) list(ctx context.Context, limit int) (*wireResult, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	var r wireResult
	err := c.do(ctx, http.MethodGet, "/pets?"+query.Encode(), nil, http.StatusOK, &r, &r.pets)
	return &r, err
}

func (c *plain) create(ctx context.Context, pet wireNewPet) (*wireResult, error) {
	body, err := json.Marshal(pet)
	if err != nil {
		return nil, err
	}
	r := wireResult{pets: make([]wirePet, 1)}
	err = c.do(ctx, http.MethodPost, "/pets", body, http.StatusCreated, &r, &r.pets[0])
	return &r, err
}

func (c *plain) get(ctx context.Context, id int64) (*wireResult, error) {
	r := wireResult{pets: make([]wirePet, 1)}
	err := c.do(ctx, http.MethodGet, "/pets/"+strconv.FormatInt(id, 10), nil, http.StatusOK, &r, &r.pets[0])
	return &r, err
}

// do sends a request and decodes the response into value, or into an error unless the status is
// want.
func (c *plain) do(
	ctx context.Context, method, path string, body []byte, want int, r *wireResult, value any,
) error {
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	resp, err := c.send(ctx, method, c.baseURL+path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	r.status, r.limit = resp.StatusCode, rateLimit(resp.Header)
	if resp.StatusCode != want {
		e := &apiError{limit: r.limit}
		if err := json.Unmarshal(data, &e.wireError); err != nil {
			return err
		}
		return e
	}
	return json.Unmarshal(data, value)
}
