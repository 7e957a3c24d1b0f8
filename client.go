package petstore

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/internal/body"
	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/wire"
)

// Version is the version of this module; it is part of the User-Agent.
const Version = "0.2.0"

// Client calls the Pet Store Service with one API key. It is safe for concurrent use. Make one and
// keep it; it needs no closing, but see [Client.CloseIdleConnections]. It never prints its API key.
// The zero Client is not usable: each of its calls fails with an [*ArgumentError].
type Client struct {
	shared  *shared // nil if NewClient did not make the client
	key     credential.Source
	rotates bool                   // key calls the function of WithAPIKeyFunc
	used    atomic.Pointer[string] // Call.KeyID of the key that was used last
	keys    keys
	traces  []*ClientTrace
}

// shared is what clients with different keys share; see ForKey.
type shared struct {
	config    clientConfig
	base      string // URL, without a trailing slash
	baseURL   *url.URL
	sends     wire.Transport // what transport is
	closeIdle []func()       // close the idle connections of the client's own transports
	headers   http.Header    // of each request
	buffers   body.Pool
	http2     atomic.Bool // the next request may go over HTTP/2

	// transport sends the attempts. It is a function so that no dump can print the variables that
	// it closes over: they lead to connections whose buffers contain the key.
	transport func(*http.Request) (*http.Response, error)
}

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
		return nil, err
	}
	return newClient(baseURL, apiKey, config)
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
	transport, closeIdle, err := config.newTransport()
	if err != nil {
		return nil, err
	}
	sends := wire.NewTransport(transport, config.httpClient == nil && len(config.wraps) == 0)
	config.httpClient = nil // a dump could follow it to connections, whose buffers have the key
	s := &shared{
		config:    *config,
		base:      base.String(),
		baseURL:   base,
		transport: transport.RoundTrip,
		sends:     sends,
		closeIdle: closeIdle,
		headers: http.Header{
			"Accept":     {"application/json"},
			"User-Agent": {strings.TrimPrefix(config.product+" petstore-go/"+Version, " ")},
		},
	}
	s.http2.Store(sends.MayUseHTTP2(base))
	return newClientOf(s, key, config.keyFunc != nil, config.jar), nil
}

func newClientOf(s *shared, key credential.Source, rotates bool, jar http.CookieJar) *Client {
	c := &Client{shared: s, key: key, rotates: rotates, keys: keys{found: map[string]*keyState{}, jar: jar}}
	if !rotates {
		key, _ := key(nil) // a key that is always the same comes without an error
		c.used.Store(key.ID)
		c.keys.of(*key.ID)
	}
	c.traces = s.config.traces
	if logger := s.config.logger; logger != nil {
		c.traces = append(slices.Clip(c.traces), logTrace(logger, &c.keys))
	}
	return c
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

// newTransport returns the transport for the attempts, and what closes the idle connections of
// those that do not belong to the caller.
func (c *clientConfig) newTransport() (http.RoundTripper, []func(), error) {
	var transport http.RoundTripper
	var closeIdle []func()
	if hc := c.httpClient; hc == nil {
		own := wire.DefaultTransport()
		transport, closeIdle = own, append(closeIdle, own.CloseIdleConnections)
	} else {
		c.jar = hc.Jar
		if hc.Timeout > 0 {
			c.call.attemptTimeout = min(hc.Timeout, cmp.Or(c.call.attemptTimeout, hc.Timeout))
		}
		transport = cmp.Or(hc.Transport, http.DefaultTransport)
	}
	// A transport of version 0.1 would go silent: it compiles, and nothing calls it for calls.
	if _, old := transport.(interface {
		CallStarted(ctx context.Context, c Call) (context.Context, func(error))
	}); old {
		return nil, nil, invalid("WithHTTPClient", "the Transport has CallStarted; use WithTrace")
	}
	for _, wrap := range c.wraps {
		inner := transport
		if transport = wrap(inner); transport == nil {
			return nil, nil, invalid("WithTransport", "returned nil")
		}
		if clone, ok := transport.(*http.Transport); ok && transport != inner {
			closeIdle = append(closeIdle, clone.CloseIdleConnections)
		}
	}
	return transport, closeIdle, nil
}

// ForKey returns a client with another key in place of that of c, or of the function of
// [WithAPIKeyFunc], and the same transport, limiter and options, for a program with many keys. The
// clients share neither cookies nor what is recorded about a key.
func (c *Client) ForKey(apiKey string) (*Client, error) {
	if c == nil || c.shared == nil {
		return nil, argumentError("ForKey", "Client", "was not made by NewClient")
	}
	key, err := newKeySource(apiKey, nil)
	if err != nil {
		return nil, withOperation(err, "ForKey")
	}
	jar := c.shared.config.jar
	if jar != nil {
		jar = newJar()
	}
	return newClientOf(c.shared, key, false, jar), nil
}

// CloseIdleConnections closes the idle connections of the client's own transport, which it shares
// with the clients of [Client.ForKey], and of the clones of it that [WithTransport] returned, but
// not those of [WithHTTPClient]. The client remains usable.
func (c *Client) CloseIdleConnections() {
	if c == nil || c.shared == nil {
		return
	}
	for _, closeIdle := range c.shared.closeIdle {
		wire.Within(time.Second, closeIdle) // it hangs together with net/http; see wire.Guard
	}
}

// RateLimit returns the most recent rate limit known for the client's key, or for the key that it
// used last if there are several, also from responses to other clients that share its [Limiter]. It
// returns the zero RateLimit before the first response.
func (c *Client) RateLimit() RateLimit {
	id := c.keyID()
	switch {
	case id == "":
		return RateLimit{}
	case c.shared.config.limiter != nil:
		return c.shared.config.limiter.RateLimit(id)
	}
	return *cmp.Or(c.keys.of(id).seen.Load(), new(RateLimit))
}

// keyID returns the Call.KeyID of the client's key, or of the key that it used last; empty before
// the first.
func (c *Client) keyID() string {
	if c == nil || c.shared == nil || c.used.Load() == nil {
		return ""
	}
	return *c.used.Load()
}

// ReopenLimit lets the next call of each key that the client used send one request although the
// limiter has closed the key, for instance after a ban was lifted or a higher plan was bought. It
// sends nothing by itself. It has no effect on an open key, or without a limiter.
func (c *Client) ReopenLimit() {
	if c.keyID() == "" || c.shared.config.limiter == nil {
		return
	}
	for _, id := range c.keys.ids() {
		c.shared.config.limiter.Reopen(id)
	}
}

// String returns the base URL as petstore.Client(https://host/v1), for logs.
func (c *Client) String() string {
	if c == nil || c.shared == nil {
		return "petstore.Client()"
	}
	return "petstore.Client(" + c.shared.base + ")"
}

// Format writes String for each verb, so that %#v and %d show no more than %v.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue returns String as an attribute.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }
