package petstore

import (
	"context"

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
// (section 8.2): Limit, Remaining and Reset. The zero RateLimit means that nothing is known, for
// instance because a header is missing or malformed.
type RateLimit = ratelimit.Window
