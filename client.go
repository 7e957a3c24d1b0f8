package petstore

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/petstore/petstore-go/internal/credential"
)

// Client calls the Pet Store Service with one API key. It is safe for concurrent use. Make one and
// keep it; it needs no closing, but see [Client.CloseIdleConnections]. A printed Client never shows
// the API key. The zero Client is not usable.
type Client struct {
	base      string // the base URL, without a trailing slash
	basePath  string // the path of base
	transport *transport
	config    *config
	traces    []*ClientTrace // the traces of config, and then the log; each is complete

	key       credential.Key // the zero Key with WithAPIKeyFunc
	lastKeyID atomic.Value   // the Call.KeyID of the key that was used last, a string; none before the first
	tokens    tokens         // the retries that the client has left; see "Retries" in doc.go
}

// NewClient returns a client of the service at baseURL. The URL must be absolute and end in the
// version prefix, as https://host/v1 does (section 1); one trailing slash is allowed. The client
// sends apiKey as a bearer token (section 5).
//
// NewClient does no I/O. It returns an [*ArgumentError] if the URL has user information, a query or
// a fragment, if it is plain http to a host other than loopback (see [WithInsecureHTTP]), if the
// key cannot be a bearer token, or if an option is invalid. No error repeats the URL or the key.
func NewClient(baseURL, apiKey string, opts ...Option) (*Client, error) {
	config, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	base, problem := credential.ParseBaseURL(baseURL, config.insecureHTTP)
	if problem != "" {
		return nil, &ArgumentError{"NewClient", "baseURL", problem}
	}
	c := &Client{base: base.String(), basePath: base.Path}
	if err := c.configure("NewClient", config, apiKey); err != nil {
		return nil, err
	}
	if c.transport, err = config.newTransport(); err != nil {
		return nil, err
	}
	// A dump of the client would follow this field to connections, whose buffers contain the key.
	config.transport = nil
	return c, nil
}

// configure sets the config, the traces and the key of c.
func (c *Client) configure(opName string, config *config, apiKey string) error {
	c.config, c.traces = config, slices.Clip(config.traces)
	if config.log != nil {
		c.traces = append(c.traces, config.log)
	}
	problem := credential.KeyProblem(apiKey)
	if config.keyFunc != nil {
		problem = when(apiKey != "", "is set although WithAPIKeyFunc is used")
	} else {
		c.key = credential.New(apiKey)
		c.lastKeyID.Store(c.key.ID)
	}
	if problem != "" {
		return &ArgumentError{opName, "apiKey", problem}
	}
	return nil
}

// ForKey returns a client for another key, such as the key of one tenant of a program. What happens
// to one key, such as a ban, does not affect the others.
//
// The new client shares the transport and the limiter of c. It has the options of c. An option in
// opts replaces the same option of c, but a WithTrace in opts adds functions, which are called
// after those of c. ForKey returns an error if opts have [WithHTTPClient], [WithTransport],
// [WithInsecureHTTP] or [WithAPIKeyFunc].
func (c *Client) ForKey(apiKey string, opts ...Option) (*Client, error) {
	config := *c.config
	config.forKey = true
	config.keyFunc = nil
	config.traces = slices.Clip(config.traces)
	if err := apply("ForKey", &config, opts); err != nil {
		return nil, err
	}
	client := &Client{base: c.base, basePath: c.basePath, transport: c.transport}
	if err := client.configure("ForKey", &config, apiKey); err != nil {
		return nil, err
	}
	return client, nil
}

// CloseIdleConnections closes the idle connections of the client's own transport, and of each
// *http.Transport that a function of [WithTransport] made, such as a Clone. The clients of
// [Client.ForKey] share these connections. The idle connections of a transport that came with
// [WithHTTPClient] stay open. The client remains usable.
func (c *Client) CloseIdleConnections() { c.transport.closeIdleConnections() }

// KeyID returns the [Call].KeyID of the key that was given to NewClient or ForKey. It is empty for
// a client with [WithAPIKeyFunc], whose key may change.
func (c *Client) KeyID() string { return c.key.ID }

// RateLimit returns the most recent rate limit known for the client's key. If the key rotates, it
// is that of the key that was used last. Responses to other clients with the same key and [Limiter]
// count, too. Before the first response, and without a limiter, it is the zero RateLimit.
func (c *Client) RateLimit() RateLimit {
	id, known := c.lastKeyID.Load().(string)
	if !known || c.config.limiter == nil {
		return RateLimit{}
	}
	return c.config.limiter.RateLimit(id)
}

// ReopenLimit lets the next call send one request although the limiter has closed the client's key,
// for instance after a ban was lifted or a higher plan was bought. ReopenLimit itself sends
// nothing. It has no effect if no limit holds requests back, or if there is no limiter. A call that
// waits after its own 429 goes on waiting.
func (c *Client) ReopenLimit() {
	if id, known := c.lastKeyID.Load().(string); known && c.config.limiter != nil {
		c.config.limiter.Reopen(id)
	}
}

// String returns the base URL as petstore.Client(https://host/v1), for logs.
func (c *Client) String() string { return "petstore.Client(" + c.base + ")" }

// Format writes String for each verb, so that %#v and %d show no more than %v.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue returns String as a [slog.Value].
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }
