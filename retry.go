package petstore

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/ratelimit"
)

// run makes attempts while there is to be another one, and returns the error of the call.
func (k *call) run() error {
	k.last = k.attempt()
	if k.isRetried() {
		k.retry()
	}
	switch o := k.last; {
	case o.plan.Again: // the context ended before the attempt that was planned
		k.last = &outcome{previous: o, refused: k.endReason()}
	case o.succeeded():
		k.client.retries.Succeeded()
		return nil
	}
	return k.failure(k.last)
}

// isRetried reports whether there is another attempt after the last one.
func (k *call) isRetried() bool { return k.last.plan.Again && k.endReason() == nil }

// plan asks internal/retry what follows an attempt.
func (k *call) plan(o *outcome) retry.Plan {
	if o.refused != nil || o.ended || o.succeeded() {
		return retry.Plan{}
	}
	facts := k.facts(o)
	plan := retry.Decide(&facts)
	if plan.Again && plan.Costs && k.endReason() == nil && !k.client.retries.Take() {
		return retry.Plan{NotRetried: "too many retries lately"}
	}
	return plan
}

// retry makes further attempts in the loop of go-retryablehttp. The first attempt was made before:
// nearly all calls need no other, and so no loop.
func (k *call) retry() {
	var endPause func() // reports the end of the pause before the next attempt; nil without a pause
	next := roundTripper(func(outer *http.Request) (*http.Response, error) {
		if end := endPause; end != nil { // in its first round, the loop has made no pause
			endPause = nil
			end()
			k.last = k.attempt()
		}
		// The outcome is in k.last. The loop gets an empty response, also after a failure, so that it has
		// nothing to read and no redirect to follow.
		return &http.Response{StatusCode: http.StatusOK, Header: outer.Header, Body: http.NoBody, Request: outer}, nil
	})
	loop := retryablehttp.Client{
		HTTPClient: &http.Client{Transport: next},
		RetryMax:   math.MaxInt, // no limit here: internal/retry counts the attempts
		CheckRetry: func(context.Context, *http.Response, error) (bool, error) { return k.isRetried(), nil },
		Backoff:    func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return k.backoff(&endPause) },
	}
	defer func() {
		if endPause != nil { // the loop also leaves a pause when the context ends
			endPause()
		}
	}()
	outer := http.Request{Method: k.operation.method, URL: k.client.shared.baseURL, Header: make(http.Header)}
	_, _ = loop.Do(&retryablehttp.Request{Request: outer.WithContext(k.waits)})
}

// roundTripper is a transport without CloseIdleConnections: go-retryablehttp would call that when a
// context ends, and close the connections of all calls.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// facts returns all that decides whether there is another attempt after o.
func (k *call) facts(o *outcome) retry.Facts {
	return retry.Facts{
		Result:     o.Result,
		Repeatable: k.operation.repeatable,
		// There may be a new key. If it is still the same, admit ends the call.
		NewKey:     k.client.config.keyFunc != nil && !o.askedAgain,
		Stale:      o.stale && (o.previous == nil || !o.previous.stale),
		Number:     k.info.Attempt,
		Policy:     k.config.retry,
		RetryAfter: o.limits.RetryAfter,
		OpensAt:    o.opens,
		Unlimited:  o.unlimited,
		Now:        time.Now(),
		Deadline:   k.latest(),
		MaxWait:    k.config.maxWait - k.info.Waited,
		Random:     rand.Int64N,
	}
}

// latest returns the time until which the call may send a request; zero if it has no deadline. A
// write must leave as much time as responses usually take: if it were sent later, the deadline
// would make its outcome unknown.
func (k *call) latest() time.Time {
	deadline, ok := k.ctx.Deadline()
	if !ok || k.operation.repeatable {
		return deadline
	}
	return deadline.Add(-k.client.shared.usual.get())
}

// backoff returns the pause before the next attempt, and reports its beginning. It sets end to what
// reports its end, first, since a trace may panic. With a limiter there is no pause after a 429,
// because the next attempt waits in the limiter's queue.
func (k *call) backoff(end *func()) time.Duration {
	pause := k.last.plan.Pause
	if pause <= 0 {
		*end = func() {}
		return 0
	}
	begun, limited := time.Now(), k.last.Status == http.StatusTooManyRequests
	w := ratelimit.Wait{Reason: ratelimit.ReasonBackoff, Until: begun.Add(pause), Waiting: 1}
	*end = func() {
		w.Duration = time.Since(begun)
		if limited { // WithMaxWait counts only the pauses after a 429
			k.change(func(c *Call) { c.Waited += w.Duration })
		}
		k.WaitDone(w)
	}
	k.WaitStart(w)
	return pause
}

// RetryPolicy sets how often a call is retried and with which backoff; the package documentation
// has the table of what is retried. A zero field means its default.
type RetryPolicy struct {
	// MaxAttempts is the largest number of attempts per call, including the first. The default is
	// 4; 1 means no retry.
	MaxAttempts int
	// BaseDelay is the backoff before the second attempt; it doubles with each further one. The
	// default is 500 ms. The second half of each backoff is random.
	BaseDelay time.Duration
	// MaxDelay limits the backoff, but not the Retry-After of the service. The default is 30 s, or
	// BaseDelay if that is longer.
	MaxDelay time.Duration
}

// WithRetryPolicy replaces the whole retry policy. A field that is zero in p gets its default, even
// if the client's own policy has another value there.
func WithRetryPolicy(p RetryPolicy) CallOption {
	problem := cmp.Or(
		when(p.MaxAttempts < 0 || p.BaseDelay < 0 || p.MaxDelay < 0, "has a negative field"),
		when(p.MaxDelay > 0 && p.MaxDelay < p.BaseDelay, "has a MaxDelay below its BaseDelay"))
	return forCall("WithRetryPolicy", problem, func(c *callConfig) { c.retry = retry.Policy(p).WithDefaults() })
}

// WithAttemptTimeout limits each attempt, from asking for a connection to the last byte of the
// body, without the waits between attempts. The default is 30 seconds; 0 means that only the
// context limits it. The error of an attempt that takes longer matches [ErrTimeout].
func WithAttemptTimeout(d time.Duration) CallOption {
	return forCall("WithAttemptTimeout", when(d < 0, "is negative"), func(c *callConfig) { c.attemptTimeout = d })
}

// WithCallTimeout limits each call with all its attempts and waits, as if its context had that
// deadline. If a wait for the rate limit would exceed it, the call fails immediately with a
// [*RateLimitError]. A call that is not done in time fails with an error that matches [ErrTimeout]
// and [context.DeadlineExceeded]. The default, 0, means that only the context limits a call.
func WithCallTimeout(d time.Duration) CallOption {
	return forCall("WithCallTimeout", when(d < 0, "is negative"), func(c *callConfig) { c.callTimeout = d })
}

// limit returns a context that ends with the attempt's timeout. It also ends when ctx does.
func (k *call) limit(ctx context.Context, from time.Time) (context.Context, context.CancelFunc) {
	if timeout := k.timeout(); timeout > 0 {
		return context.WithDeadline(ctx, from.Add(timeout))
	}
	return context.WithCancel(ctx)
}

// timeout returns the timeout of each attempt: the shorter of WithAttemptTimeout and the Timeout of
// the http.Client; 0 for none.
func (k *call) timeout() time.Duration {
	own, longest := k.config.attemptTimeout, k.client.config.longestAttempt
	if longest > 0 && (own == 0 || longest < own) {
		return longest
	}
	return own
}

// attemptTimedOut returns the error of an attempt that exceeded its timeout.
func (k *call) attemptTimedOut() error {
	return &timeoutError{"attempt timed out after " + k.timeout().String()}
}
