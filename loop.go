package petstore

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/petstore/petstore-go/ratelimit"
)

// run makes attempts as long as checkRetry asks for another one, and returns the error of the call.
// The loop of go-retryablehttp waits between them, and ends with the context. It knows nothing of
// what an attempt did: k.last has that.
func (k *call) run() error {
	loop := retryablehttp.Client{
		HTTPClient: &http.Client{Transport: k}, CheckRetry: k.checkRetry, Backoff: k.restOfPause, RetryMax: math.MaxInt,
	}
	address := k.client.base + k.path + when(k.query != "", "?"+k.query)
	request, err := http.NewRequestWithContext(k.stoppable, k.method, address, nil)
	if err != nil {
		return &ArgumentError{k.name, "path", "is not valid"}
	}
	k.httpRequest = request
	_, _ = loop.Do(&retryablehttp.Request{Request: request}) // k.last has the outcome
	if k.pause != nil {                                      // the context has ended in the pause
		k.endPause()
		k.previous, k.last = k.last, &attempt{failure: notAdmitted, err: k.endReason(k.stoppable)}
	}
	if !k.last.succeeded() {
		return k.errorOf(k.last)
	}
	k.client.tokens.earn()
	return nil
}

// RoundTrip implements [http.RoundTripper] for the loop, which calls it once for each attempt. The
// response is always empty, because checkRetry looks at k.last instead.
func (k *call) RoundTrip(*http.Request) (*http.Response, error) {
	k.endPause()
	k.makeAttempt()
	return &http.Response{Body: http.NoBody}, nil
}

// checkRetry is the CheckRetry of the loop. It begins the pause before another attempt. If the
// context has ended already, the loop ends, as it does when the context ends in that pause.
func (k *call) checkRetry(context.Context, *http.Response, error) (bool, error) {
	pause, again := k.next(k.last)
	if again {
		k.beginPause(pause)
	}
	return again && k.stoppable.Err() == nil, nil
}

// beginPause plans the next attempt after a pause d, and reports this pause unless d is 0.
func (k *call) beginPause(d time.Duration) {
	k.pauseBegun = time.Now()
	k.pause = &ratelimit.Wait{Reason: ratelimit.ReasonBackoff, Until: k.pauseBegun.Add(d), Waiting: 1}
	if d > 0 {
		k.WaitStart(*k.pause)
	}
}

// restOfPause is the Backoff of the loop.
func (k *call) restOfPause(time.Duration, time.Duration, int, *http.Response) time.Duration {
	return time.Until(k.pause.Until)
}

// endPause reports the end of the pause before an attempt, if there was one. For WithMaxWait, only
// pauses after a 429 count.
func (k *call) endPause() {
	pause := k.pause
	k.pause = nil
	if pause == nil || !pause.Until.After(k.pauseBegun) {
		return
	}
	pause.Duration = time.Since(k.pauseBegun)
	if k.last.was(http.StatusTooManyRequests) {
		k.maxWait -= pause.Duration
	}
	k.WaitDone(*pause)
}
