package petstore

import (
	"context"
	"time"

	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/ratelimit"
)

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

// RateLimit is the window of the rate limit according to the X-RateLimit headers of one response
// (section 8.2): Limit, Remaining and Reset. The zero RateLimit means that nothing is known, as
// when a header is missing or malformed.
type RateLimit = ratelimit.Window

// WithLimiter replaces the Client's own limiter, which is a [ratelimit.Limiter]. Give one limiter
// to all clients with the same API key, so that they share the budget of that key; one limiter may
// serve many keys. A nil limiter switches limiting off: a call then still waits for the Retry-After
// of its own 429.
func WithLimiter(l Limiter) Option {
	return perClient("WithLimiter", "", func(c *config) { c.limiter, c.limiterSet = l, true })
}

// WithProcesses says how many processes use the API key, this one included, each with a limiter of
// its own; see [ratelimit.Processes]. PETSTORE_PROCESSES has the same effect. It cannot be combined
// with [WithLimiter]: give the number to that limiter.
func WithProcesses(n int) Option {
	return perClient("WithProcesses", safetext.If(n < 1, "must be positive"), func(c *config) { c.processes = n })
}

// WithMaxWait limits how long a call waits for the rate limit. The default is 2 minutes and 2
// seconds, which is enough for two windows; with 0, a call does not wait for them. A call fails
// immediately with a [*RateLimitError] if it is known that it would have to wait longer, and at the
// latest when it has waited for d and one second for a permit. A 503 whose Retry-After, with the
// backoff, is longer than d ends the call with its [*APIError].
func WithMaxWait(d time.Duration) CallOption {
	return perCall("WithMaxWait", safetext.If(d < 0, "is negative"), func(c *config) { c.maxWait = d })
}

// WithBackground marks a call as background work: it queues behind all other calls. A tenth of each
// window of the rate limit is left to these while there are any.
func WithBackground() CallOption {
	return perCall("WithBackground", "", func(c *config) { c.background = true })
}
