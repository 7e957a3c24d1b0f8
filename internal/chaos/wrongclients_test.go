package chaos

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

// again sends r once more. body is a copy of its body: the client's GetBody does not return it
// again.
func again(next http.RoundTripper, r *http.Request, body []byte) (*http.Response, error) {
	again := r.Clone(r.Context())
	if body != nil {
		again.Body = io.NopCloser(bytes.NewReader(body))
	}
	return next.RoundTrip(again)
}

func repeatCreate(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		return next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	resp, err := again(next, r, body)
	for i := 0; i < 3 && (err != nil || resp.StatusCode >= 500); i++ {
		if err == nil {
			_ = resp.Body.Close()
		}
		resp, err = again(next, r, body)
	}
	return resp, err
}

func repeatRead(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	for i := 0; i < 10 && r.Method == http.MethodGet; i++ {
		if resp, err := again(next, r, nil); err == nil {
			_ = resp.Body.Close()
		}
	}
	return next.RoundTrip(r)
}

func refuse(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err == nil && resp.StatusCode >= 500 {
		resp.StatusCode = http.StatusBadRequest
	}
	return resp, err
}

func makeUp(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err == nil || r.Method != http.MethodPost {
		return resp, err
	}
	return &http.Response{
		StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"id":4711,"name":"Rex","categoryId":1}`)), Request: r,
	}, nil
}

func lose(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusCreated {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

// replace changes the body of a response.
func replace(resp *http.Response, with func([]byte) []byte) {
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err == nil {
		resp.ContentLength, text = -1, with(text)
		resp.Header.Del("Content-Length")
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
}

func alter(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusOK {
		replace(resp, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("Rex"), []byte("Max")) })
	}
	return resp, err
}

func rename(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		text, _ := io.ReadAll(r.Body)
		text = bytes.Replace(text, []byte(" caller "), []byte(" Caller "), 1)
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(text))
	}
	return next.RoundTrip(r)
}

func expose(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Api-Key", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	return next.RoundTrip(r)
}

func follow(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err != nil || resp.Header.Get("Location") == "" {
		return resp, err
	}
	_ = resp.Body.Close()
	there, err := resp.Location()
	if err != nil {
		return nil, err
	}
	to := r.Clone(r.Context())
	to.URL = there
	return again(next, to, []byte{})
}

// blind turns a 429 into a 503, and removes the headers of the rate limit.
func blind(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"Retry-After", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"} {
		resp.Header.Del(name)
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		resp.StatusCode = http.StatusServiceUnavailable
	}
	return resp, nil
}

// endure sends a request once more after its caller has given up.
func endure(life context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err == nil || r.Context().Err() == nil {
		return resp, err
	}
	sleep(time.Minute)
	return again(next, outlive(life, r), []byte{})
}

// outlive makes a request end with the scenario or after an hour, instead of with its context.
func outlive(life context.Context, r *http.Request) *http.Request {
	ctx, cancel := context.WithTimeout(context.WithValue(life, callKey{}, r.Context().Value(callKey{})), time.Hour)
	context.AfterFunc(life, cancel)
	return r.WithContext(ctx)
}

// leave returns a copy of a response without its body, which it neither reads nor closes.
func leave(life context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(outlive(life, r))
	if err != nil {
		return nil, err
	}
	left := *resp
	left.Body = http.NoBody
	return &left, nil
}

func fall(context.Context, http.RoundTripper, *http.Request) (*http.Response, error) { panic("fell") }
