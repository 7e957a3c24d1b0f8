package petstore

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/internal/wire"
	"github.com/petstore/petstore-go/ratelimit"
)

// Version is the version of this module; it is part of the User-Agent.
const Version = "1.0.0"

// Client calls the Pet Store Service with one API key. It is safe for concurrent use. Make one and
// keep it; it needs no closing, but see [Client.CloseIdleConnections]. It never prints its API key.
// The zero Client is not usable: each of its calls fails with an [*ArgumentError].
type Client struct {
	base     string // the base URL, without a trailing slash
	basePath string // its path
	// transport sends the attempts; nil in a zero Client. It is a function so that no dump can print
	// the variables that it closes over: they lead to connections whose buffers contain the key.
	transport func(*http.Request) (*http.Response, error)
	closeIdle []func() // of the client's own transports
	config    *config
	traces    []*ClientTrace // those of config, and the log

	key credential.Key // none if config has the function of WithAPIKeyFunc
	// used is the Call.KeyID of the key that was used last, a string; none before the first.
	used atomic.Value
	// silent says that nothing came back on a connection that had been used before. The others may be
	// dead, too: the next attempt closes them, and dials.
	silent atomic.Bool
	http1  atomic.Bool // the last response came over HTTP/1; see newRequest
	tokens tokens      // the retries that the client has left; see "Retries" in doc.go
	// lastLimit is the rate limit of the last response; kept only without a limiter, which knows it.
	lastLimit atomic.Pointer[RateLimit]
}

// NewClient returns a client of the service at baseURL. The URL must be absolute and end in the
// version prefix, as https://host/v1 does (section 1); one trailing slash is allowed. The client
// sends apiKey as a bearer token (section 5).
//
// NewClient does no I/O. It returns an [*ArgumentError] if the URL has user information, a query or
// a fragment, if it is plain http to a host other than loopback (see [WithInsecureHTTP]), if the
// key cannot be a bearer token, or if an option is invalid. No error repeats the URL or the key.
func NewClient(baseURL, apiKey string, opts ...Option) (*Client, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	return newClient(argument{"baseURL", baseURL}, argument{"apiKey", apiKey}, c)
}

// argument is an argument of a constructor, with its name in errors.
type argument struct{ name, value string }

// newClient returns a client with the settings of config.
func newClient(baseURL, apiKey argument, config *config) (*Client, error) {
	base, problem := credential.ParseBaseURL(baseURL.value, config.insecureHTTP)
	if problem != "" {
		return nil, &ArgumentError{"NewClient", baseURL.name, problem}
	}
	transport, closeIdle, err := config.newTransport()
	if err != nil {
		return nil, err
	}
	// A dump of the client could follow httpClient to connections, whose buffers contain the key.
	config.httpClient = nil
	c := &Client{base: base.String(), basePath: base.Path, transport: transport.RoundTrip, closeIdle: closeIdle}
	return c.configured("NewClient", config, apiKey)
}

// configured returns c with what clients of different keys do not share.
func (c *Client) configured(opName string, config *config, apiKey argument) (*Client, error) {
	c.config, c.traces = config, slices.Clip(config.traces)
	if config.log != nil {
		c.traces = append(c.traces, config.log)
	}
	problem := credential.KeyProblem(apiKey.value)
	if config.keyFunc != nil {
		problem = safetext.If(apiKey.value != "", "is set although WithAPIKeyFunc is used")
	} else {
		c.key = credential.New(apiKey.value)
		c.used.Store(c.key.ID)
	}
	if problem != "" {
		return nil, &ArgumentError{opName, apiKey.name, problem}
	}
	return c, nil
}

// newTransport returns the transport for the attempts, and functions that close the idle
// connections of the transports that do not belong to the caller.
func (c *config) newTransport() (transport http.RoundTripper, closeIdle []func(), err error) {
	if c.httpClient == nil {
		own := wire.DefaultTransport()
		transport, closeIdle = own, append(closeIdle, own.CloseIdleConnections)
	} else {
		transport = cmp.Or(c.httpClient.Transport, http.DefaultTransport)
	}
	for _, wrap := range c.wraps {
		outer := wrap(transport)
		if outer == nil {
			return nil, nil, &ArgumentError{"NewClient", "WithTransport", "returned nil"}
		}
		clone, ok := outer.(*http.Transport)
		if ok && outer != transport {
			closeIdle = append(closeIdle, clone.CloseIdleConnections)
		}
		transport = outer
	}
	return transport, closeIdle, nil
}

// The variables of the environment that NewClientFromEnv reads.
const (
	envBaseURL    = "PETSTORE_BASE_URL"
	envAPIKey     = "PETSTORE_API_KEY"
	envAPIKeyFile = "PETSTORE_API_KEY_FILE"
	envInsecure   = "PETSTORE_INSECURE_HTTP"
	envProcesses  = "PETSTORE_PROCESSES"
)

// NewClientFromEnv is [NewClient] with the base URL from PETSTORE_BASE_URL and the key from
// PETSTORE_API_KEY, or from the file at PETSTORE_API_KEY_FILE, which [APIKeyFile] reads again for
// each request. It is an error to set both variables of the key, or one of them and
// [WithAPIKeyFunc]. Each error matches [ErrInvalidArgument] and names the variable, but never
// repeats its value.
//
// PETSTORE_PROCESSES is the number of processes that use the key, this one included: it has the
// effect of [WithProcesses], unless opts have a [WithLimiter].
//
// PETSTORE_INSECURE_HTTP=1 has the effect of [WithInsecureHTTP], for tests: the key is then sent
// unencrypted.
func NewClientFromEnv(opts ...Option) (*Client, error) {
	c, err := newConfig(append(optionsFromEnv(), opts...))
	if err != nil {
		return nil, err
	}
	apiKey, err := apiKeyFromEnv(c)
	if err != nil {
		return nil, err
	}
	return newClient(argument{envBaseURL, os.Getenv(envBaseURL)}, apiKey, c)
}

// optionsFromEnv returns the options for the variables that have the effect of options and are set.
func optionsFromEnv() (opts []Option) {
	if text := os.Getenv(envProcesses); text != "" {
		n, err := strconv.Atoi(text)
		problem := safetext.If(err != nil || n < 1, "is not a number of processes")
		opts = append(opts, perClient(envProcesses, problem, func(c *config) {
			c.limiter = ratelimit.New(ratelimit.Processes(n))
		}))
	}
	if text := os.Getenv(envInsecure); text != "" {
		problem := safetext.If(text != "0" && text != "1", "is neither 0 nor 1")
		opts = append(opts, shared(envInsecure, problem, func(c *config) { c.insecureHTTP = text == "1" }))
	}
	return opts
}

// apiKeyFromEnv returns the key. For a key file, it sets the function of c instead, and reads the
// file once, so that a wrong one is reported early.
func apiKeyFromEnv(c *config) (argument, error) {
	key, file := argument{envAPIKey, os.Getenv(envAPIKey)}, os.Getenv(envAPIKeyFile)
	problem := ""
	switch {
	case file == "" && key.value == "" && c.keyFunc == nil:
		return key, &ArgumentError{"NewClient", envAPIKey, "is not set, nor is " + envAPIKeyFile}
	case file == "":
		return key, nil
	case key.value != "":
		problem = "is set although " + envAPIKey + " is set"
	case c.keyFunc != nil:
		problem = "is set although WithAPIKeyFunc is used"
	default:
		c.keyFunc = APIKeyFile(file)
		if _, err := credential.From(context.Background(), c.keyFunc); err != nil {
			_, problem, _ = strings.Cut(err.Error(), ": ")
		}
	}
	if problem != "" {
		return key, &ArgumentError{"NewClient", envAPIKeyFile, problem}
	}
	return key, nil
}

// APIKeyFile returns a function for [WithAPIKeyFunc] that reads the key from a file each time: a
// regular file of at most 64 KiB, or a link to one. White space around the key is ignored. An error
// of the function matches what is wrong, such as [io/fs.ErrNotExist]. It never repeats the path,
// because a user may have put the key itself there by mistake. A program that changes the key
// should write a new file and rename it to this one, so that no call finds it half written.
func APIKeyFile(path string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return credential.ReadFile(path) }
}

// WithAPIKeyFunc calls f before each attempt to get the API key of one identity whose key rotates,
// and once more if the attempt has waited, so that the key is never as old as the wait. It is not
// for tenants: these have clients of [Client.ForKey]. The apiKey of NewClient must then be "". f
// gets a context with the values and the timeout of an attempt, and must be safe for concurrent
// use. If f fails, or returns a string that cannot be a bearer token, the call fails with a
// [*TransportError] and nothing is sent. That error matches f's error but does not repeat its text,
// which may contain a key.
//
// If the service answers 401, the client calls f once more within the call. If f then returns
// another key, the client sends the request again with that key. It repeats a create, too, because
// the service has not carried it out.
func WithAPIKeyFunc(f func(context.Context) (string, error)) Option {
	return shared("WithAPIKeyFunc", safetext.If(f == nil, "is nil"), func(c *config) { c.keyFunc = f })
}

// ForKey returns a client for another key. It shares the transport and the limiter of c, and has
// the options of c and then opts. A program with many tenants has such a client for each of them,
// and what happens to one tenant, such as a ban, does not affect the others. An option in opts
// replaces that of c, except that the functions of WithTrace are called after those of c.
// [WithHTTPClient], [WithTransport], [WithInsecureHTTP] and [WithAPIKeyFunc] are errors here.
func (c *Client) ForKey(apiKey string, opts ...Option) (*Client, error) {
	if c.transport == nil {
		return nil, &ArgumentError{"ForKey", "Client", "was not made by NewClient"}
	}
	config := *c.config
	config.keyFunc, config.limiterSet, config.traces = nil, false, slices.Clip(config.traces)
	if err := apply("ForKey", &config, opts); err != nil {
		return nil, err
	}
	client := &Client{base: c.base, basePath: c.basePath, transport: c.transport, closeIdle: c.closeIdle}
	return client.configured("ForKey", &config, argument{"apiKey", apiKey})
}

// CloseIdleConnections closes the idle connections of the client's own transport, which it shares
// with the clients of [Client.ForKey], and of the clones of it that [WithTransport] returned. It
// does not close those of a transport that came with [WithHTTPClient]. The client remains usable.
func (c *Client) CloseIdleConnections() {
	for _, closeIdle := range c.closeIdle {
		closeIdle()
	}
}

// KeyID returns the [Call].KeyID of the key of NewClient or ForKey. It is empty for a client with
// [WithAPIKeyFunc], whose key may change.
func (c *Client) KeyID() string { return c.key.ID }

// RateLimit returns the most recent rate limit known for the client's key; if the key rotates, for
// the key that it used last. Responses to other clients that share its [Limiter] count, too. It
// returns the zero RateLimit before the first response.
func (c *Client) RateLimit() RateLimit {
	id, known := c.used.Load().(string)
	if known && c.config.limiter != nil {
		return c.config.limiter.RateLimit(id)
	}
	return *cmp.Or(c.lastLimit.Load(), new(RateLimit))
}

// ReopenLimit lets the next call send one request although the limiter has closed the client's key,
// for instance after a ban was lifted or a higher plan was bought. It sends nothing by itself, and
// has no effect on an open key or without a limiter.
func (c *Client) ReopenLimit() {
	if id, known := c.used.Load().(string); known && c.config.limiter != nil {
		c.config.limiter.Reopen(id)
	}
}

// String returns the base URL as petstore.Client(https://host/v1), for logs.
func (c *Client) String() string { return "petstore.Client(" + c.base + ")" }

// Format writes String for each verb, so that %#v and %d show no more than %v.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue returns String as an attribute.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }
