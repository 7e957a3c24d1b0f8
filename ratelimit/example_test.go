package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// get sends a request as soon as the limiter allows it.
func get(limiter *ratelimit.Limiter, url string) error {
	permit, err := limiter.Acquire(context.Background(), ratelimit.Request{MaxWait: 10 * time.Second})
	if err != nil {
		return err
	}
	o := ratelimit.Outcome{Sent: time.Now()}
	defer func() { permit.Release(o) }()
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	o = outcome(resp, o.Sent, time.Now())
	return resp.Body.Close()
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
	limiter := ratelimit.New()
	fmt.Println(get(limiter, server.URL), get(limiter, server.URL))
	if limited, ok := errors.AsType[*ratelimit.Error](get(limiter, server.URL)); ok {
		fmt.Println("limit of the", limited.Reason, "in", time.Until(limited.RetryAt).Round(10*time.Second))
	}
	// Output:
	// <nil> <nil>
	// limit of the minute in 30s
}
