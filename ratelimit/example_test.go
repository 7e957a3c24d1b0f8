package ratelimit_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// transport keeps the requests of an http.Client within the limit of a server.
type transport struct {
	next    http.RoundTripper
	limiter *ratelimit.Limiter
	maxWait time.Duration
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	permit, err := t.limiter.Acquire(req.Context(), ratelimit.Request{MaxWait: t.maxWait})
	if err != nil {
		return nil, err
	}
	o := ratelimit.Outcome{Sent: time.Now()}
	defer func() { permit.Release(o) }() // also if the next transport panics
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		o.Abandoned = req.Context().Err() != nil
		return nil, err
	}
	o = outcome(resp, o.Sent, time.Now())
	return resp, nil
}

// outcome reads the headers of a server that counts the seconds until the reset. For those of the
// package comment, ratelimit.OutcomeOf is enough.
func outcome(resp *http.Response, sent, received time.Time) ratelimit.Outcome {
	o := ratelimit.OutcomeOf(resp, sent, received)
	limit, err1 := strconv.Atoi(resp.Header.Get("RateLimit-Limit"))
	remaining, err2 := strconv.Atoi(resp.Header.Get("RateLimit-Remaining"))
	seconds, err3 := strconv.Atoi(resp.Header.Get("RateLimit-Reset"))
	if errors.Join(err1, err2, err3) == nil {
		reset := o.Date.Add(time.Duration(seconds) * time.Second) // by the clock of the server
		o.Window = ratelimit.Window{Limit: limit, Remaining: remaining, Reset: reset}
	}
	return o
}

// The server allows two requests in 30 seconds. The third is not sent.
func Example() {
	remaining := 2
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		remaining--
		w.Header().Set("RateLimit-Limit", "2")
		w.Header().Set("RateLimit-Remaining", strconv.Itoa(remaining))
		w.Header().Set("RateLimit-Reset", "30")
	}))
	defer server.Close()

	client := &http.Client{Transport: &transport{
		next: http.DefaultTransport, limiter: ratelimit.New(), maxWait: 10 * time.Second,
	}}
	for range 3 {
		resp, err := client.Get(server.URL)
		if limited, ok := errors.AsType[*ratelimit.Error](err); ok {
			fmt.Println("limit of the", limited.Reason, "in", time.Until(limited.RetryAt).Round(10*time.Second))
			continue
		}
		if err != nil {
			fmt.Println(err)
			continue
		}
		_ = resp.Body.Close()
		fmt.Println(resp.Status)
	}
	// Output:
	// 200 OK
	// 200 OK
	// limit of the minute in 30s
}
