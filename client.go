package petstore

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"

	"github.com/hashicorp/go-cleanhttp"
	"github.com/hashicorp/go-retryablehttp"
)

// Version is the version of this module; it is part of the User-Agent.
const Version = "0.2.0"

// The environment that NewClientFromEnv reads.
const (
	envBaseURL    = "PETSTORE_BASE_URL"
	envAPIKey     = "PETSTORE_API_KEY"
	envAPIKeyFile = "PETSTORE_API_KEY_FILE"
	envInsecure   = "PETSTORE_INSECURE_HTTP"
)

// idleConnections is how many idle connections the default transport keeps: one host is all it talks to,
// and with the two or three per host of the usual defaults 64 goroutines dial most of the time.
const idleConnections = 64

// Client calls the Pet Store Service with one API key. It is safe for concurrent use, meant to be made
// once and kept, and needs no closing. It never prints its API key. The zero Client is not usable: each
// of its calls fails with an [*ArgumentError].
type Client struct {
	base      string // URL, without a trailing slash
	petsURL   *url.URL
	templates [3]string // of the paths, by the index of the operation
	engine    *retryablehttp.Client
	transport roundTripper // sends the attempts
	plain     bool         // transport is an http.Transport
	reports   bool         // transport reports each connection that it looks for
	http1     atomic.Bool  // the last response came over HTTP/1
	key       keySource
	rotates   bool // key asks a function of the user's
	limiter   Limiter
	traces    []*ClientTrace
	noCookies http.Header
	headers   http.Header // of every request
	maxBody   int64
	buffers   bufferPool
	dates     dateParser
	call      callConfig
	retries   retryBudget
	waiting   atomic.Int64 // calls at the gate
	closure   closure
	seen      atomic.Pointer[RateLimit] // what the last response said, for a client without limiter
}

// Response describes the HTTP exchange behind a result or an [APIError]: that of its last attempt.
type Response struct {
	// StatusCode is the HTTP status code.
	StatusCode int
	// Header is the response's header.
	Header http.Header
	// RateLimit is what the X-RateLimit headers said (section 8.2).
	RateLimit RateLimit
	// Attempts is the number of requests the call took.
	Attempts int
	// RawBody is the body of a success as it came, if [WithRawBody] asked for it.
	RawBody []byte
}

// NewClient returns a client of the service at baseURL, which is absolute and ends in the version prefix:
// https://host/v1 (section 1); one trailing slash is tolerated. apiKey is sent as a bearer token
// (section 5).
//
// NewClient does no I/O. It fails with an [*ArgumentError] if the URL has user information, a query or a
// fragment, if it is plain http to a host that is not loopback (see [WithInsecureHTTP]), if the key cannot
// be a bearer token, and if an option is wrong. No error repeats the URL or the key.
func NewClient(baseURL, apiKey string, opts ...Option) (*Client, error) {
	config, err := newClientConfig(opts)
	if err != nil {
		return nil, withOperation(err, "NewClient")
	}
	return newClient(baseURL, apiKey, config)
}

// NewClientFromEnv is [NewClient] with the base URL from PETSTORE_BASE_URL and the key from
// PETSTORE_API_KEY or from the file that PETSTORE_API_KEY_FILE names, of at most 64 KiB; setting both is an error.
// White space around the key in the file is ignored. With [WithAPIKeyFunc] neither is needed. Errors name
// the variable, and repeat nothing of what it holds.
//
// PETSTORE_INSECURE_HTTP=1 is [WithInsecureHTTP], for test deployments whose service has no certificate: the key
// then travels in the clear, so that it belongs in no environment that has the key of a real service.
func NewClientFromEnv(opts ...Option) (*Client, error) {
	config, err := newClientConfig(opts)
	if err != nil {
		return nil, withOperation(err, "NewClient")
	}
	baseURL := os.Getenv(envBaseURL)
	if baseURL == "" {
		return nil, withOperation(invalid(envBaseURL, "is not set"), "NewClient")
	}
	switch os.Getenv(envInsecure) {
	case "", "0":
	case "1":
		config.insecureHTTP = true
	default:
		return nil, withOperation(invalid(envInsecure, "is neither 0 nor 1"), "NewClient")
	}
	apiKey, source, err := apiKeyFromEnv()
	if err != nil {
		return nil, withOperation(err, "NewClient")
	}
	if apiKey == "" && config.keyFunc == nil {
		return nil, withOperation(invalid(envAPIKey, "is not set, nor is "+envAPIKeyFile), "NewClient")
	}
	client, err := newClient(baseURL, apiKey, config)
	if e, ok := errors.AsType[*ArgumentError](err); ok {
		e.Argument = cmp.Or(map[string]string{"baseURL": envBaseURL, "apiKey": source}[e.Argument], e.Argument)
	}
	return client, err
}

func newClient(baseURL, apiKey string, config *clientConfig) (*Client, error) {
	base, err := parseBaseURL(baseURL, config.insecureHTTP)
	if err != nil {
		return nil, withOperation(err, "NewClient")
	}
	key, err := newKeySource(apiKey, config.keyFunc)
	if err != nil {
		return nil, withOperation(err, "NewClient")
	}
	hc, transport, err := newHTTPClient(config)
	if err != nil {
		return nil, withOperation(err, "NewClient")
	}
	userAgent := "petstore-go/" + Version
	if config.product != "" {
		userAgent = config.product + " " + userAgent
	}
	_, plain := transport.(*http.Transport)
	c := &Client{
		base:      base.String(),
		petsURL:   base.JoinPath("pets"),
		engine:    newEngine(hc),
		transport: transport.RoundTrip,
		plain:     plain,
		reports:   reports(transport) && (!plain || config.httpClient == nil),
		key:       key,
		rotates:   config.keyFunc != nil,
		limiter:   config.limiter,
		traces:    config.traces,
		noCookies: make(http.Header),
		headers:   http.Header{"Accept": {"application/json"}, "User-Agent": {userAgent}},
		maxBody:   config.maxResponseBytes,
		call:      config.call,
	}
	for _, op := range []*operation{listPets, createPet, getPet} {
		c.templates[op.index] = c.petsURL.Path + op.template
	}
	c.http1.Store(base.Scheme == "http") // of https it is not known before the first response
	return c, nil
}

// newHTTPClient returns the http.Client of the carrier requests, and the transport of the attempts.
func newHTTPClient(config *clientConfig) (*http.Client, http.RoundTripper, error) {
	hc := http.Client{Transport: defaultTransport()}
	if config.httpClient != nil {
		hc = *config.httpClient
		if hc.Transport == nil {
			hc.Transport = http.DefaultTransport
		}
		if t := hc.Timeout; t > 0 {
			config.call.attemptTimeout = shorter(config.call.attemptTimeout, t)
			hc.Timeout = 0
		}
	}
	transport := hc.Transport
	for _, wrap := range config.wraps {
		if transport = wrap(transport); transport == nil {
			return nil, nil, invalid("WithTransport", "returned nil")
		}
	}
	hc.Transport = newRoundTripper()
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &hc, transport, nil
}

// newEngine sets up go-retryablehttp as the loop around the attempts and no more: what is retried, when,
// and what comes out is decided by the call, which it finds in the context of the carrier request.
func newEngine(hc *http.Client) *retryablehttp.Client {
	return &retryablehttp.Client{
		HTTPClient:   hc,
		RetryMax:     math.MaxInt, // the policy of the call counts
		CheckRetry:   checkRetry,
		Backoff:      noBackoff,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
}

// maxHeaderBytes bounds the header of a response; net/http alone would take ten times as much.
const maxHeaderBytes = 1 << 20

func defaultTransport() http.RoundTripper {
	t := cleanhttp.DefaultPooledTransport()
	t.MaxResponseHeaderBytes = maxHeaderBytes
	t.MaxIdleConns = idleConnections
	t.MaxIdleConnsPerHost = idleConnections
	return t
}

// RateLimit returns the most recent rate limit known for the key, also from the responses to other clients
// that share its [Limiter]; the zero RateLimit before there is one. It sends nothing.
func (c *Client) RateLimit() RateLimit {
	switch {
	case c == nil:
		return RateLimit{}
	case c.limiter != nil:
		return c.limiter.RateLimit()
	case c.seen.Load() != nil:
		return *c.seen.Load()
	}
	return RateLimit{}
}

// sawResponse notes over which protocol the last response came, and keeps what it said for RateLimit, unless the
// limiter does.
func (c *Client) sawResponse(protoMajor int, r RateLimit) {
	if http1 := protoMajor < 2; c.http1.Load() != http1 {
		c.http1.Store(http1)
	}
	if c.limiter == nil && !r.IsZero() {
		seen := r // copy: taking r's address would make it escape on every call
		c.seen.Store(&seen)
	}
}

// Reopen has one request ask the service again although the limiter holds the key for closed, for instance after a
// ban was lifted or a higher plan was bought. It sends nothing by itself: the next call does. It does nothing
// for an open key, without a limiter, or with a [Limiter] that is no [Reopener].
func (c *Client) Reopen() {
	if c == nil {
		return
	}
	if r, ok := c.limiter.(Reopener); ok {
		r.Reopen(c.keyID())
	}
}

// keyID identifies the key, or is empty if only a function of the user's knows it.
func (c *Client) keyID() string {
	if c.rotates {
		return ""
	}
	key, err := c.key(nil)
	if err != nil {
		return ""
	}
	return *key.id
}

// BaseURL returns the base URL that NewClient was given, without a trailing slash; empty for a client
// that it did not make.
func (c *Client) BaseURL() string {
	if c == nil {
		return ""
	}
	return c.base
}

// String returns the base URL in a form for logs.
func (c *Client) String() string {
	return "petstore.Client(" + c.BaseURL() + ")"
}

// Format writes String for every verb, so that %#v and %d show no more than %v.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue returns the base URL as an attribute.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

// cookies returns where http.Client puts the cookies of the caller's jar.
func (c *Client) cookies() http.Header {
	if c.engine.HTTPClient.Jar == nil {
		return c.noCookies
	}
	return make(http.Header)
}
