package petstoreotel

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
)

// NewTransport returns a transport that sends through base and records each request as a span and
// in http.client.request.duration, for a program that needs no more, or whose requests are not
// those of a client. [New] records the calls of a client as well; a client that has its options
// needs no NewTransport.
//
// A nil base means a transport like the one that a client has by default, with a pool of its own.
// The result is safe for concurrent use if base is, and CloseIdleConnections of an http.Client
// reaches base through it. NewTransport never fails, like New.
func NewTransport(base http.RoundTripper, opts ...Option) http.RoundTripper {
	if base == nil {
		base = defaultTransport()
	}
	i := newInstrumentation(newConfig(opts))
	return &transport{i, base}
}

// transport records what is sent through base.
type transport struct {
	*instrumentation
	base http.RoundTripper
}

// errBroken is the error of a base that panics, or returns neither a response nor an error.
var errBroken = errors.New("not what an http.RoundTripper may do")

// RoundTrip sends one request within a span.
func (t *transport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	c, known := callOf(req)
	if t.silent(req.Context(), known) {
		return t.base.RoundTrip(t.inject(req, &carrier{request: req}))
	}
	a, sent := t.begin(req, c)
	defer func() {
		switch {
		case err != nil:
			a.end(err)
		case resp == nil:
			a.end(errBroken)
		default:
			a.responded(resp)
		}
	}()
	return t.base.RoundTrip(sent)
}

// silent reports whether a request is not recorded. known reports whether it belongs to a call.
func (t *transport) silent(ctx context.Context, known bool) bool {
	if t.traced && known {
		return t.callOf(ctx) == nil
	}
	return t.tracer == nil && !t.metrics.requestDuration.Enabled(ctx)
}

// inject writes the context of req into the header of the request that it returns.
func (t *transport) inject(req *http.Request, c *carrier) *http.Request {
	t.propagators.Inject(req.Context(), c)
	return c.request
}

// Unwrap returns base.
func (t *transport) Unwrap() http.RoundTripper { return t.base }

// CloseIdleConnections closes the idle connections of base.
func (t *transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// defaultTransport returns a transport like that of a petstore.Client. http.DefaultTransport keeps
// two idle connections per host, so that most calls of a busy client would dial, and accepts
// headers of 10 MiB.
func defaultTransport() http.RoundTripper {
	std, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // the program has chosen another one
		return http.DefaultTransport
	}
	const idleConnections = 64
	t := std.Clone()
	t.MaxIdleConns = idleConnections
	t.MaxIdleConnsPerHost = idleConnections
	t.MaxResponseHeaderBytes = 1 << 20
	return t
}

// carrier gives a propagator the header of a request. It copies the header, and the request unless
// it is owned, before the first change, because they belong to the caller.
type carrier struct {
	request *http.Request
	owned   bool // the request
	copied  bool // the header
}

func (c *carrier) Get(key string) string { return c.request.Header.Get(key) }

func (c *carrier) Set(key, value string) {
	if !c.owned {
		c.request, c.owned = c.request.WithContext(c.request.Context()), true
	}
	if !c.copied {
		header := make(http.Header, len(c.request.Header)+2)
		maps.Copy(header, c.request.Header) // the values are replaced, never changed
		c.request.Header, c.copied = header, true
	}
	c.request.Header.Set(key, value)
}

func (c *carrier) Keys() []string { return slices.Collect(maps.Keys(c.request.Header)) }
