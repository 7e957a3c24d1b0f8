package petstore

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/petstore/petstore-go/internal/body"
	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/headers"
	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/wire"
)

// Version is the version of this module; it is part of the User-Agent.
const Version = "0.2.0"

// Client calls the Pet Store Service with one API key. It is safe for concurrent use. Make one and
// keep it; it needs no closing, but see [Client.CloseIdleConnections]. It never prints its API key.
// The zero Client is not usable: each of its calls fails with an [*ArgumentError].
type Client struct{ core }

// NewClient returns a client of the service at baseURL. The URL must be absolute and end in the
// version prefix, as https://host/v1 does (section 1); one trailing slash is allowed. The client
// sends apiKey as a bearer token (section 5).
//
// NewClient does no I/O. It returns an [*ArgumentError] if the URL has user information, a query or
// a fragment, if it is plain http to a host other than loopback (see [WithInsecureHTTP]), if the
// key cannot be a bearer token, or if an option is invalid. No error repeats the URL or the key.
func NewClient(baseURL, apiKey string, opts ...Option) (*Client, error) {
	config, err := newClientConfig(opts)
	if err != nil {
		return nil, withOperation(err, "NewClient")
	}
	c, err := newClient(baseURL, apiKey, config)
	return c, withOperation(err, "NewClient")
}

func newClient(baseURL, apiKey string, config *clientConfig) (*Client, error) {
	base, reason := credential.ParseBaseURL(baseURL, config.insecureHTTP)
	if reason != "" {
		return nil, invalid("baseURL", reason)
	}
	key, err := newKeySource(apiKey, config.keyFunc)
	if err != nil {
		return nil, err
	}
	closeIdle := func() {} // the transport of WithHTTPClient belongs to the caller
	if config.httpClient == nil {
		own := wire.DefaultTransport()
		closeIdle = own.CloseIdleConnections
		config.httpClient, config.ownTransport = &http.Client{Transport: own}, true
	}
	hc, transport, err := newHTTPClient(config)
	if err != nil {
		return nil, err
	}
	sends := wire.NewTransport(transport, config.ownTransport && len(config.wraps) == 0)
	config.httpClient = nil // a dump could follow it to connections, whose buffers have the key
	c := &Client{newCore(shared{
		clientConfig: *config,
		base:         base.String(),
		baseURL:      base,
		templates:    templates(base.Path),
		engine:       newEngine(*hc),
		transport:    transport.RoundTrip,
		sends:        sends,
		closeIdle:    closeIdle,
		noCookies:    make(http.Header),
		headers:      http.Header{"Accept": {"application/json"}, "User-Agent": {userAgent(config.product)}},
		buffers:      new(body.Pool),
		calls:        new(sync.Pool),
		dates:        new(headers.Dates),
		retries:      new(retry.Budget),
	}, key, config.keyFunc != nil)}
	c.http1.Store(base.Scheme == "http") // for https, only a response shows the protocol
	return c, nil
}

// userAgent returns the User-Agent; product is that of WithUserAgent.
func userAgent(product string) string {
	return strings.TrimPrefix(product+" petstore-go/"+Version, " ")
}

// newKeySource returns a source of key, or of the keys that f returns.
func newKeySource(key string, f func(context.Context) (string, error)) (credential.Source, error) {
	switch reason := credential.KeyProblem(key); {
	case f != nil && key != "":
		return nil, invalid("apiKey", "is set although WithAPIKeyFunc is used")
	case f != nil:
		return credential.From(f), nil
	case reason != "":
		return nil, invalid("apiKey", reason)
	}
	return credential.Always(key), nil
}

// newHTTPClient returns the http.Client for the placeholder requests and the transport for the
// attempts.
func newHTTPClient(config *clientConfig) (*http.Client, http.RoundTripper, error) {
	hc := *config.httpClient
	if hc.Transport == nil {
		hc.Transport = http.DefaultTransport
	}
	if t := hc.Timeout; t > 0 {
		config.call.attemptTimeout = shorter(config.call.attemptTimeout, t)
		hc.Timeout = 0
	}
	transport := hc.Transport
	for _, wrap := range config.wraps {
		if transport = wrap(transport); transport == nil {
			return nil, nil, invalid("WithTransport", "returned nil")
		}
	}
	return &hc, transport, nil
}

// usable returns the core of c; nil if NewClient did not make c.
func (c *Client) usable() *core {
	if c == nil || c.engine == nil {
		return nil
	}
	return &c.core
}

// ForKey returns a client with another key, which must be a bearer token, and the same transport,
// limiter and options, for a program with many keys: its clients then share one pool of
// connections. It replaces the function of [WithAPIKeyFunc], if there is one.
func (c *Client) ForKey(apiKey string) (*Client, error) {
	if c.usable() == nil {
		return nil, argumentError("ForKey", "Client", "was not made by NewClient")
	}
	key, err := newKeySource(apiKey, nil)
	if err != nil {
		return nil, withOperation(err, "ForKey")
	}
	other := &Client{newCore(c.shared, key, false)}
	other.http1.Store(c.http1.Load())
	return other, nil
}

// CloseIdleConnections closes the idle connections of the client's own transport, which it shares
// with the clients of [Client.ForKey]. It does nothing to the transport of [WithHTTPClient]. The
// client can be used further.
func (c *Client) CloseIdleConnections() {
	if c != nil && c.closeIdle != nil {
		c.closeIdle()
	}
}

// RateLimit returns the most recent rate limit known for the key, also from responses to other
// clients that share its [Limiter]. It returns the zero RateLimit before the first response. It
// sends nothing.
func (c *Client) RateLimit() RateLimit {
	switch {
	case c == nil:
		return RateLimit{}
	case c.limiter != nil:
		return c.limiter.RateLimit(c.usedKeyID())
	case c.seen.Load() != nil:
		return *c.seen.Load()
	}
	return RateLimit{}
}

// ReopenLimit lets the next call send one request although the limiter has closed the key, for instance
// after a ban was lifted or a higher plan was bought. It sends nothing by itself. It has no effect
// on an open key, without a limiter, or with a [Limiter] that has no Reopen. A program may call it
// on each refusal: each time, at most one request goes ahead.
func (c *Client) ReopenLimit() {
	if c == nil {
		return
	}
	for l := c.limiter; l != nil; {
		if r, ok := l.(interface{ Reopen(keyID string) }); ok {
			r.Reopen(c.keyID())
			return
		}
		w, ok := l.(interface{ Unwrap() Limiter })
		if !ok {
			return
		}
		l = w.Unwrap()
	}
}

// BaseURL returns the base URL that was given to NewClient, without a trailing slash; empty for the
// zero Client and for nil.
func (c *Client) BaseURL() string {
	if c == nil {
		return ""
	}
	return c.base
}

// String returns the base URL as petstore.Client(https://host/v1), for logs.
func (c *Client) String() string {
	return "petstore.Client(" + c.BaseURL() + ")"
}

// Format writes String for each verb, so that %#v and %d show no more than %v.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue returns String as an attribute.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

// shorter returns the shorter of two time limits; 0 means no limit.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}
