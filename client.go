package petstore

import (
	"cmp"
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
	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/wire"
)

// Version is the version of this module; it is part of the User-Agent.
const Version = "1.0.0"

// Client calls the Pet Store Service with one API key. It is safe for concurrent use. Make one and
// keep it; it needs no closing, but see [Client.CloseIdleConnections]. It never prints its API key.
// The zero Client is not usable: each of its calls fails with an [*ArgumentError].
type Client struct {
	// shared has what clients of ForKey have in common; nil in a zero Client, which NewClient did not
	// make.
	shared *shared
	config *clientConfig
	// key is the API key, unless config has the function of WithAPIKeyFunc.
	key       credential.Key
	userAgent string // header of each request
	traces    []*ClientTrace

	// used is the Call.KeyID of the key that was used last; nil before the first.
	used atomic.Pointer[string]
	// retries are the retries that the client has left; see "Retries" in doc.go.
	retries retry.Tokens
	// lastLimit is the rate limit of the last response. It is kept only without a limiter, which would
	// know it.
	lastLimit atomic.Pointer[RateLimit]
}

// shared is what clients with different keys share; see ForKey.
type shared struct {
	// base is the text of the base URL, without a trailing slash.
	base    string
	baseURL *url.URL
	// sends is what package wire knows about transport.
	sends wire.Transport
	// closeIdle has functions that close the idle connections of the client's own transports.
	closeIdle []func()
	buffers   body.Pool
	// usual is the time that a response usually takes.
	usual average

	// transport sends the attempts. It is a function so that no dump can print the variables that
	// it closes over: they lead to connections whose buffers contain the key.
	transport func(*http.Request) (*http.Response, error)
}

// average is the average time that responses took lately. It is atomic, since the calls of all
// goroutines change it.
type average struct{ nanoseconds atomic.Int64 }

// firstResponse is how long the first response is expected to take.
const firstResponse = 100 * time.Millisecond

// get returns the average.
func (v *average) get() time.Duration {
	return cmp.Or(time.Duration(v.nanoseconds.Load()), firstResponse)
}

// add adds the time of a response. It counts for one eighth, so that five further responses halve
// its weight.
func (v *average) add(d time.Duration) {
	old := v.nanoseconds.Load()
	if old == 0 {
		old = int64(d)
	}
	v.nanoseconds.Store(old + (int64(d)-old)/8)
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

// newClient returns a client with the settings of config. NewClientFromEnv needs these before it
// has the key, so both constructors end here.
func newClient(baseURL, apiKey string, config *clientConfig) (*Client, error) {
	base, reason := credential.ParseBaseURL(baseURL, config.insecureHTTP)
	if reason != "" {
		return nil, invalid("baseURL", reason)
	}
	transport, closeIdle, err := config.newTransport()
	if err != nil {
		return nil, err
	}
	// A dump of the client could follow httpClient to connections, whose buffers contain the key.
	config.httpClient = nil
	return newClientOf(&shared{
		base: base.String(), baseURL: base, closeIdle: closeIdle,
		transport: transport.RoundTrip, sends: wire.NewTransport(transport),
	}, apiKey, config)
}

// newClientOf returns a client with a key of its own.
func newClientOf(s *shared, apiKey string, config *clientConfig) (*Client, error) {
	c := &Client{
		shared: s, config: config, traces: config.traces,
		userAgent: strings.TrimPrefix(config.product+" petstore-go/"+Version, " "),
	}
	switch reason := credential.KeyProblem(apiKey); {
	case config.keyFunc != nil && apiKey != "":
		return nil, invalid("apiKey", "is set although WithAPIKeyFunc is used")
	case config.keyFunc != nil:
	case reason != "":
		return nil, invalid("apiKey", reason)
	default:
		c.key = credential.New(apiKey)
		c.used.Store(c.key.ID)
	}
	// A client of ForKey has the log of the first client: an outage of all keys is one outage.
	if config.log != nil {
		c.traces = append(slices.Clip(c.traces), config.log)
	}
	return c, nil
}

// newTransport returns the transport for the attempts, and functions that close the idle
// connections of the transports that do not belong to the caller.
func (c *clientConfig) newTransport() (http.RoundTripper, []func(), error) {
	var transport http.RoundTripper
	var closeIdle []func()
	if hc := c.httpClient; hc == nil {
		own := wire.DefaultTransport()
		transport, closeIdle = own, append(closeIdle, own.CloseIdleConnections)
	} else {
		transport = cmp.Or(hc.Transport, http.DefaultTransport)
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

// ForKey returns a client for another key. It shares the transport and the limiter of c, and has
// the options of c and then opts. A program with many tenants has such a client for each of them,
// and what happens to one tenant, such as a ban, does not affect the others. An option in opts
// replaces that of c, except that the functions of WithTrace are called after those of c.
// [WithHTTPClient], [WithTransport], [WithInsecureHTTP] and [WithAPIKeyFunc] are errors here. A
// client without a WithLogger of its own uses the log of c, so that an outage is logged only once.
func (c *Client) ForKey(apiKey string, opts ...Option) (*Client, error) {
	if c == nil || c.shared == nil {
		return nil, argumentError("ForKey", "Client", "was not made by NewClient")
	}
	config := *c.config
	config.forKey, config.keyFunc, config.limiterOption = true, nil, ""
	config.traces = slices.Clip(config.traces)
	if err := config.apply(opts); err != nil {
		return nil, withOperation(err, "ForKey")
	}
	client, err := newClientOf(c.shared, apiKey, &config)
	return client, withOperation(err, "ForKey")
}

// CloseIdleConnections closes the idle connections of the client's own transport, which it shares
// with the clients of [Client.ForKey], and of the clones of it that [WithTransport] returned. It
// does not close those of a transport that came with [WithHTTPClient]. The client remains usable.
func (c *Client) CloseIdleConnections() {
	if c == nil || c.shared == nil {
		return
	}
	for _, closeIdle := range c.shared.closeIdle {
		closeIdle()
	}
}

// RateLimit returns the most recent rate limit known for the client's key; if the key rotates, for
// the key that it used last. Responses to other clients that share its [Limiter] count, too. It
// returns the zero RateLimit before the first response.
func (c *Client) RateLimit() RateLimit {
	id := c.keyID()
	switch {
	case id == "":
		return RateLimit{}
	case c.config.limiter != nil:
		return c.config.limiter.RateLimit(id)
	}
	return *cmp.Or(c.lastLimit.Load(), new(RateLimit))
}

// keyID returns the Call.KeyID of the key that the client used last; empty before the first key.
func (c *Client) keyID() string {
	if c == nil || c.shared == nil || c.used.Load() == nil {
		return ""
	}
	return *c.used.Load()
}

// ReopenLimit lets the next call send one request although the limiter has closed the client's key,
// for instance after a ban was lifted or a higher plan was bought. It sends nothing by itself, and
// has no effect on an open key or without a limiter.
func (c *Client) ReopenLimit() {
	if id := c.keyID(); id != "" && c.config.limiter != nil {
		c.config.limiter.Reopen(id)
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
