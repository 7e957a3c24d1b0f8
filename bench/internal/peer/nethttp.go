package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/bench/internal/canned"
)

// plain is what a careful user writes with encoding/json around an engine that sends requests.
type plain struct {
	baseURL string
	timeout time.Duration // of a request with its body; 0: none
	send    func(ctx context.Context, method, url string, body []byte) (*http.Response, error)
}

// attemptTimeout is the default of ours.
const attemptTimeout = 30 * time.Second

// newNetHTTP returns the yardstick: net/http with a timeout for each request.
func newNetHTTP(t Target) Client {
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
	return Client{"net/http", (&plain{t.BaseURL, attemptTimeout, send}).call}
}

// newRetryable returns go-retryablehttp with its defaults, but silent.
func newRetryable(t Target) Client {
	client := retryablehttp.NewClient()
	client.Logger = nil
	if own, ok := client.HTTPClient.Transport.(*http.Transport); ok {
		t.pool(own)
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
	return Client{"go-retryablehttp", (&plain{t.BaseURL, 0, send}).call}
}

func setHeader(h http.Header, body bool) {
	h.Set("Authorization", "Bearer "+APIKey)
	h.Set("Accept", "application/json")
	h.Set("User-Agent", "bench/1.0")
	if body {
		h.Set("Content-Type", "application/json")
	}
}

// result is the value that a call returns.
type result struct {
	Status    int
	Pets      []petstore.Pet
	RateLimit petstore.RateLimit
}

func (c *plain) call(ctx context.Context, o canned.Operation) (any, error) {
	r := &result{}
	if o.Limit > 0 {
		query := url.Values{"limit": {strconv.Itoa(o.Limit)}}
		return r, c.do(ctx, http.MethodGet, "/pets?"+query.Encode(), nil, http.StatusOK, r, &r.Pets)
	}
	r.Pets = make([]petstore.Pet, 1)
	if o.ID > 0 {
		return r, c.do(ctx, http.MethodGet, "/pets/"+strconv.FormatInt(o.ID, 10), nil, http.StatusOK, r, &r.Pets[0])
	}
	body, err := json.Marshal(canned.NewPet)
	if err != nil {
		return nil, err
	}
	return r, c.do(ctx, http.MethodPost, "/pets", body, http.StatusCreated, r, &r.Pets[0])
}

// do sends a request and decodes the response into value, or into an error unless the status is
// want.
func (c *plain) do(
	ctx context.Context, method, path string, body []byte, want int, r *result, value any,
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
	r.Status, r.RateLimit = resp.StatusCode, rateLimit(resp.Header)
	if resp.StatusCode != want {
		e := &apiError{RateLimit: r.RateLimit}
		if err := json.Unmarshal(data, e); err != nil {
			return err
		}
		return e
	}
	return json.Unmarshal(data, value)
}

// rateLimit reads the headers of section 8.2 by the names that the document gives them.
func rateLimit(h http.Header) petstore.RateLimit {
	limit, err1 := strconv.Atoi(h.Get("X-RateLimit-Limit"))
	remaining, err2 := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	reset, err3 := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return petstore.RateLimit{}
	}
	return petstore.RateLimit{Limit: limit, Remaining: remaining, Reset: time.Unix(reset, 0).UTC()}
}

// apiError is the Error object as a Go error.
type apiError struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Status    int    `json:"status"`
	RateLimit petstore.RateLimit
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }
