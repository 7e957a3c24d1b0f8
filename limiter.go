package petstore

import (
	"context"

	"github.com/petstore/petstore-go/ratelimit"
)

// Limiter decides when a request may be sent with an API key. A [Client] calls Acquire before each
// request, with a [Call].KeyID as the key. It calls Release of the permit as soon as the header of
// the response has arrived. The default is a [ratelimit.Limiter]; the module petstoreredis has a
// limiter for several processes. An implementation must be safe for concurrent use. Package
// ratelimittest has tests for implementations.
type Limiter interface {
	// Acquire blocks until one request may be sent. If the wait would be longer than r.MaxWait, or
	// would exceed the deadline of ctx, Acquire returns a *[ratelimit.Error] immediately, and the
	// call fails with a [*RateLimitError]. The deadline of ctx is that of the call. After any other
	// error, the call fails with a [*TransportError] that wraps the error, and makes no other
	// attempt. With an error, Acquire returns no permit.
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
