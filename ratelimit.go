package petstore

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/ratelimit"
)

// Response describes the last HTTP response of the call that returned a result, an [APIError] or a
// [ResponseError].
type Response struct {
	// StatusCode is the HTTP status code.
	StatusCode int
	// Header is the response's header.
	Header http.Header
	// RateLimit is the rate limit from the X-RateLimit headers (section 8.2).
	RateLimit RateLimit
	// Attempts is the number of requests that the call sent, in part or completely.
	Attempts int
}

// RateLimit is the window of the rate limit according to the X-RateLimit headers of one response
// (section 8.2): Limit, Remaining and Reset. The zero RateLimit means that nothing is known, as
// when a header is missing or malformed.
type RateLimit = ratelimit.Window

// RateLimitError reports a call that was given up because of the rate limit (section 8): the wait
// would exceed [WithMaxWait] or the context's deadline, the context ended during the wait, or the
// service answered the last attempt with 429. The service did not carry out the request.
type RateLimitError struct {
	// Operation is the name of the operation in the service document: "createPet".
	Operation string
	// CallID is the call_id of the call's lines in the log.
	CallID string
	// RetryAt is the time from which a request may be sent again, by the local clock; zero if not
	// known.
	RetryAt time.Time
	// RateLimit is the last known rate limit of the key.
	RateLimit RateLimit
	// Reason is the limit that the call would have had to wait for, such as [ratelimit.ReasonDay];
	// empty if not known.
	Reason ratelimit.Reason
	// Attempts is the number of requests that the call sent; 0 if it was refused before the first.
	Attempts int
	// Err is the *APIError of the last 429, or the error and the cause of the context that ended the
	// wait, or both; nil if there is neither.
	Err error
}

// Error returns one line of at most 512 bytes.
func (e *RateLimitError) Error() string {
	refusal := ratelimit.Error{RetryAt: e.RetryAt, Reason: e.Reason}
	text := safetext.Prefix(e.Operation) + refusal.Error() + when(e.Attempts == 0, ", nothing was sent")
	if e.Err != nil {
		text += ": " + safetext.TrimPrefix(e.Err, e.Operation)
	}
	return safetext.Line(text)
}

// Is reports whether target is [ErrRateLimited], or [ErrNotSent] if the call sent nothing.
func (e *RateLimitError) Is(target error) bool {
	return target == ErrRateLimited || target == ErrNotSent && e.Attempts == 0
}

// Unwrap returns Err.
func (e *RateLimitError) Unwrap() error { return e.Err }

// RetryAfter returns how long to wait from now before the call may be made again; 0 if that time
// has passed. It is the same for a 429, a 503 and a refusal of the limiter. It returns false if err
// does not say how long, or if it matches [ErrOutcomeUnknown]: to make that call again might carry
// out the same request twice.
func RetryAfter(err error) (time.Duration, bool) {
	if errors.Is(err, ErrOutcomeUnknown) {
		return 0, false
	}
	if e, ok := errors.AsType[*RateLimitError](err); ok && !e.RetryAt.IsZero() {
		return max(0, time.Until(e.RetryAt)), true
	}
	if e, ok := errors.AsType[*APIError](err); ok && e.RetryAfter > 0 {
		if e.received.IsZero() { // a test built the error: no client did
			return e.RetryAfter, true
		}
		return max(0, time.Until(e.received.Add(e.RetryAfter))), true
	}
	return 0, false
}

// RetryAfterHeader returns the time of [RetryAfter] as the value of a Retry-After header for the
// caller's own clients: whole seconds from now, rounded up, at least 1.
func RetryAfterHeader(err error) (string, bool) {
	wait, ok := RetryAfter(err)
	if !ok {
		return "", false
	}
	return strconv.FormatFloat(max(1, math.Ceil(wait.Seconds())), 'f', 0, 64), true
}

// Limiter admits the requests of API keys. A [Client] calls Acquire before each attempt, with a
// [Call].KeyID as the key, and Release of the permit as soon as the header of the response has
// arrived. [ratelimit.Limiter] is the default, the module petstoreredis has one for several
// processes. An implementation must be safe for concurrent use; package ratelimittest tests it.
type Limiter interface {
	// Acquire blocks until one request may be sent. If that would take longer than r.MaxWait or
	// would exceed the deadline of ctx, which is that of the call, it returns a *[ratelimit.Error]
	// immediately, and the call fails with a [*RateLimitError]. Any other error ends the call, too:
	// it is not retried, and a [*TransportError] wraps it. With an error it returns no permit.
	Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error)
	// RateLimit returns the most recent rate limit known for a key; the zero RateLimit before the
	// first response.
	RateLimit(key string) RateLimit
	// Reopen admits the next request of a key although the key is closed. It does not block, and
	// has no effect on an open key.
	Reopen(key string)
}

// WithLimiter replaces the Client's own limiter, which is a [ratelimit.Limiter]. Give one limiter
// to all clients with the same API key, so that they share the budget of that key; one limiter may
// serve many keys. A nil limiter switches limiting off: a call then still waits for the Retry-After
// of its own 429.
func WithLimiter(l Limiter) Option {
	return option{set: func(c *config) { c.limiter, c.limiterSet = l, true }}
}

// WithProcesses says how many processes use the API key, this one included, each with a limiter of
// its own; see [ratelimit.Processes]. PETSTORE_PROCESSES has the same effect. It cannot be combined
// with [WithLimiter]: give the number to that limiter.
func WithProcesses(n int) Option {
	return option{"WithProcesses", when(n < 1, "must be positive"), func(c *config) { c.processes = n }, false}
}

// WithMaxWait limits how long a call waits for the rate limit. The default is 2 minutes and 2
// seconds, which is enough for two windows; with 0, a call does not wait for them. A call fails
// immediately with a [*RateLimitError] if it is known that it would have to wait longer, and at the
// latest when it has waited for d and one second, whatever for. The limit also applies to the
// Retry-After of each 503.
func WithMaxWait(d time.Duration) CallOption {
	return perCall("WithMaxWait", when(d < 0, "is negative"), func(c *config) { c.maxWait = d })
}

// WithBackground marks a call as background work: it queues behind all other calls. A tenth of each
// window of the rate limit is left to these while there are any.
func WithBackground() CallOption {
	return perCall("", "", func(c *config) { c.background = true })
}
