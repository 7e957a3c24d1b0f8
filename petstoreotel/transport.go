package petstoreotel

import (
	"context"
	"errors"
	"net/http"
)

// NewTransport returns a transport that sends through base and shows each request as a span and in
// http.client.request.duration, for a program that needs no more, or that sends what is not a client's. [New] shows
// the calls of a client as well; a client that has its options needs no NewTransport.
//
// A nil base is a transport like the one that a client has by default, with a pool of its own. The result is safe
// for concurrent use if base is, and CloseIdleConnections of an http.Client reaches base through it. NewTransport never
// fails, as New.
func NewTransport(base http.RoundTripper, opts ...Option) http.RoundTripper {
	if base == nil {
		base = defaultTransport()
	}
	i := newInstrumentation(newConfig(opts))
	i.metrics.startRequests(i.meter)
	return &transport{i, base}
}

// transport records what is sent through base.
type transport struct {
	*instrumentation
	base http.RoundTripper
}

// errBroken is what a base did that panics, or returns neither a response nor an error.
var errBroken = errors.New("not what an http.RoundTripper may do")

// RoundTrip sends one request within a span.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c, known := callOf(req)
	if t.silent(req.Context(), known) {
		return t.base.RoundTrip(t.inject(req, &carrier{request: req}))
	}
	a, sent := t.begin(req, c)
	returned := false
	defer func() {
		if !returned {
			a.end(errBroken)
		}
	}()
	resp, err := t.base.RoundTrip(sent)
	returned = true
	switch {
	case err != nil:
		a.end(err)
	case resp == nil:
		a.end(errBroken)
	default:
		a.responded(resp)
	}
	return resp, err
}

// silent reports whether nothing would be recorded of a request, known being whether it belongs to a call.
func (t *transport) silent(ctx context.Context, known bool) bool {
	if t.traced && known {
		return t.callOf(ctx) == nil
	}
	return t.tracer == nil && !t.metrics.requestDuration.Enabled(ctx)
}

// inject writes the context of req into the header of what carrier makes of it.
func (t *transport) inject(req *http.Request, c *carrier) *http.Request {
	t.propagators.Inject(req.Context(), c)
	return c.request
}

// Unwrap returns base.
func (t *transport) Unwrap() http.RoundTripper { return t.base }

// CloseIdleConnections closes those of base, if it has any.
func (t *transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// defaultTransport is what a petstore.Client has by default: with the two idle connections per host of
// http.DefaultTransport most calls of a busy client would dial, and a header may have 10 MiB.
func defaultTransport() http.RoundTripper {
	std, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // the program has put something else there, which is then what it wants
		return http.DefaultTransport
	}
	const idleConnections = 64
	t := std.Clone()
	t.MaxIdleConns = idleConnections
	t.MaxIdleConnsPerHost = idleConnections
	t.MaxResponseHeaderBytes = 1 << 20
	return t
}
