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
	o = ratelimit.OutcomeOf(resp, o.Sent, time.Now())
	return resp.Body.Close()
}

// The server allows two requests in 30 seconds. The third is not sent.
func Example() {
	remaining, reset := 2, time.Now().Add(30*time.Second).Unix()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		remaining--
		w.Header().Set("X-RateLimit-Limit", "2")
		w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(remaining))
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(reset, 10))
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
