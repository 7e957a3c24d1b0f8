package petstore

import (
	"context"
	"maps"
	"math"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// This file is the only one that knows how go-retryablehttp works. It is the loop around the
// attempts, and sees, like http.Client, only a placeholder request: one without a body, a key or a
// redirect that they could act on. The hooks find the call in the placeholder's context.

// looped is a call as the loop sees it.
type looped interface {
	// attempt makes one attempt. cookies is the header with those of the user's jar.
	attempt(cookies http.Header) (*http.Response, error)
	// again reports whether there is another attempt.
	again() bool
}

// loopKey is the key for the call in the context of a placeholder.
type loopKey struct{}

func loopedIn(ctx context.Context) looped { return ctx.Value(loopKey{}).(looped) }

// placeholder is the request that goes through the loop.
type placeholder struct {
	ctx     valueContext
	request http.Request
	engine  retryablehttp.Request
}

// run makes the attempts of call. Its error matters only if there was no attempt.
func (p *placeholder) run(ctx context.Context, call looped, c *core, r *request) error {
	p.ctx = valueContext{ctx, loopKey{}, call}
	req := r.message(c.cookies())
	p.request = *req.WithContext(&p.ctx)
	p.engine.Request = &p.request
	resp, err := c.engine.Do(&p.engine)
	if err == nil {
		_ = resp.Body.Close() // it is http.NoBody; see placeholderResponse
	}
	return err
}

// placeholderResponse returns resp for http.Client, without the parts that http.Client would act on:
// the body, which has been read, and the Location of a redirect, since http.Client parses it even if
// it does not follow it, and drops the response if the Location is malformed.
func placeholderResponse(resp *http.Response) *http.Response {
	resp.Body = http.NoBody
	if resp.StatusCode/100 == 3 {
		resp.Header = maps.Clone(resp.Header)
		resp.Header.Del("Location")
	}
	return resp
}

// newEngine returns go-retryablehttp reduced to the loop. The waits are at the gate and not in
// Backoff, which gets no context and cannot end the call.
//
// The transport of hc has no CloseIdleConnections: go-retryablehttp calls that after each failure,
// and would close the idle connections of all calls and clients that share the transport of the
// attempts.
func newEngine(hc http.Client) *retryablehttp.Client {
	hc.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		return loopedIn(req.Context()).attempt(req.Header)
	})
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &retryablehttp.Client{
		HTTPClient: &hc,
		RetryMax:   math.MaxInt, // the call applies its policy
		CheckRetry: func(ctx context.Context, _ *http.Response, _ error) (bool, error) {
			return loopedIn(ctx).again(), nil
		},
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return 0 },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
}
