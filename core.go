package petstore

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/petstore/petstore-go/internal/body"
	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/headers"
	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/wire"
)

// core is what the calls of a client know of it.
type core struct {
	shared

	key     credential.Source
	rotates bool        // key calls the function of WithAPIKeyFunc
	http1   atomic.Bool // the last response came over HTTP/1
	tracer  tracer
	seen    atomic.Pointer[RateLimit] // of the last response, if there is no limiter
}

// shared is what clients with different keys share; see WithKey.
type shared struct {
	base      string // URL, without a trailing slash
	petsURL   *url.URL
	templates [1 + len(operations)]string // path templates, by the index of the operation
	engine    *retryablehttp.Client
	transport roundTripper   // sends the attempts
	sends     wire.Transport // what transport is
	closeIdle func()         // closes the idle connections of the client's own transport
	limiter   Limiter
	stop      context.Context //nolint:containedctx // of WithStop; nil for none
	noCookies http.Header
	headers   http.Header // of each request
	maxBody   int64
	buffers   *body.Pool
	calls     *sync.Pool // of *call
	dates     *headers.Dates
	retries   *retry.Budget
	call      callConfig
}

// roundTripper is a function so that no dump can print the variables that it closes over: they lead
// to connections whose buffers contain the key.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// cookies returns the header into which http.Client writes the cookies of the caller's jar.
func (c *core) cookies() http.Header {
	if c.engine.HTTPClient.Jar == nil {
		return c.noCookies
	}
	return make(http.Header)
}

// stopped returns the channel that the end of WithStop closes; nil without one.
func (c *core) stopped() <-chan struct{} {
	if c.stop == nil {
		return nil
	}
	return c.stop.Done()
}

// sawResponse records the protocol of the last response and, without a limiter, its rate limit.
func (c *core) sawResponse(protoMajor int, r RateLimit) {
	if http1 := protoMajor < 2; c.http1.Load() != http1 {
		c.http1.Store(http1)
	}
	if c.limiter == nil && !r.IsZero() {
		seen := r // copy: taking r's address would make it escape on every call
		c.seen.Store(&seen)
	}
}

// keyID returns the Call.KeyID of the client's key; empty if the key comes from WithAPIKeyFunc.
func (c *core) keyID() string {
	if c.rotates {
		return ""
	}
	key, err := c.key(nil)
	if err != nil {
		return ""
	}
	return *key.ID
}
