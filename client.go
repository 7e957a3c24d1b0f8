package petstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

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
)

// idleConnections is how many idle connections the default transport keeps: one host is all it talks to,
// and with the two or three per host of the usual defaults 64 goroutines dial most of the time.
const idleConnections = 64

// Client calls the Pet Store Service with one API key. It is safe for concurrent use, meant to be made
// once and kept, and needs no closing. It never prints its API key. The zero Client is not usable: each
// of its calls fails with an [*ArgumentError].
type Client struct {
	baseURL   *url.URL
	petsURL   *url.URL
	retrying  *retryablehttp.Client
	limiter   Limiter
	waiting   atomic.Int64 // calls that are asking the limiter
	observer  CallObserver // nil: none
	logger    *slog.Logger
	noCookies http.Header
	headers   http.Header // of every request
	buffers   bufferPool
	dates     dateParser
	call      callConfig
	retries   retryBudget
	seen      atomic.Pointer[RateLimit] // what the last answer said, for a client without limiter
}

// Response describes the HTTP exchange behind a result or an [APIError]: that of its last attempt.
type Response struct {
	// StatusCode is the HTTP status code.
	StatusCode int
	// Header is the answer's header.
	Header http.Header
	// RateLimit is what the X-RateLimit headers said (section 8.2).
	RateLimit RateLimit
	// Attempts is the number of requests the call took.
	Attempts int
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
// PETSTORE_API_KEY or from the file that PETSTORE_API_KEY_FILE names; setting both is an error. White
// space around the key in the file is ignored. With [WithAPIKeyFunc] neither is needed.
func NewClientFromEnv(opts ...Option) (*Client, error) {
	config, err := newClientConfig(opts)
	if err != nil {
		return nil, withOperation(err, "NewClient")
	}
	baseURL := os.Getenv(envBaseURL)
	if baseURL == "" {
		return nil, withOperation(invalid(envBaseURL, "is not set"), "NewClient")
	}
	apiKey, err := apiKeyFromEnv()
	if err != nil {
		return nil, withOperation(err, "NewClient")
	}
	if apiKey == "" && config.keyFunc == nil {
		return nil, withOperation(invalid(envAPIKey, "is not set, nor is "+envAPIKeyFile), "NewClient")
	}
	return newClient(baseURL, apiKey, config)
}

func newClient(baseURL, apiKey string, config *clientConfig) (*Client, error) {
	base, err := parseBaseURL(baseURL, config.insecureHTTP)
	if err != nil {
		return nil, withOperation(err, "NewClient")
	}
	bearer, err := newBearer(apiKey, config.keyFunc)
	if err != nil {
		return nil, withOperation(err, "NewClient")
	}
	userAgent := "petstore-go/" + Version
	if config.product != "" {
		userAgent = config.product + " " + userAgent
	}
	var observer CallObserver
	if config.httpClient != nil {
		observer, _ = config.httpClient.Transport.(CallObserver)
	}
	return &Client{
		baseURL:   base,
		petsURL:   base.JoinPath("pets"),
		retrying:  newRetrying(config, bearer),
		limiter:   config.limiter,
		observer:  observer,
		logger:    config.logger,
		noCookies: make(http.Header),
		headers:   http.Header{"Accept": {"application/json"}, "User-Agent": {userAgent}},
		call:      config.call,
	}, nil
}

// newRetrying sets up go-retryablehttp as the loop around the attempts and no more: what is retried, when,
// and what comes out is decided by the call (retry.go), which it finds in the request's context.
func newRetrying(config *clientConfig, bearer bearer) *retryablehttp.Client {
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
	hc.Transport = newAttempts(hc.Transport, bearer, config.maxResponseBytes)
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &retryablehttp.Client{
		HTTPClient:   &hc,
		RetryMax:     math.MaxInt, // the policy of the call counts
		CheckRetry:   checkRetry,
		Backoff:      noBackoff,
		PrepareRetry: prepareRetry,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
}

// maxHeaderBytes bounds the header of an answer; net/http alone would take ten times as much.
const maxHeaderBytes = 1 << 20

func defaultTransport() http.RoundTripper {
	t := cleanhttp.DefaultPooledTransport()
	t.MaxResponseHeaderBytes = maxHeaderBytes
	t.MaxIdleConns = idleConnections
	t.MaxIdleConnsPerHost = idleConnections
	return t
}

// RateLimit returns the most recent rate limit known for the key, also from the answers to other clients
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

// Waiting returns the number of calls that wait for the rate limit at this moment.
func (c *Client) Waiting() int {
	if c == nil {
		return 0
	}
	return int(c.waiting.Load())
}

// sawRateLimit keeps what an answer said for RateLimit, unless the limiter does.
func (c *Client) sawRateLimit(r RateLimit) {
	if c.limiter == nil && !r.IsZero() {
		seen := r // r itself would be on the heap for everybody
		c.seen.Store(&seen)
	}
}

// BaseURL returns the base URL that NewClient was given, without a trailing slash; empty for a client
// that it did not make.
func (c *Client) BaseURL() string {
	if c == nil || c.baseURL == nil {
		return ""
	}
	return c.baseURL.String()
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
	if c.retrying.HTTPClient.Jar == nil {
		return c.noCookies
	}
	return make(http.Header)
}

// parseBaseURL never returns url.Parse's error, which repeats the URL and with it a password in it.
func parseBaseURL(s string, insecure bool) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, invalid("baseURL", "is not a URL")
	}
	if reason := baseURLFault(u, insecure); reason != "" {
		return nil, invalid("baseURL", reason)
	}
	if _, err := url.Parse(u.String()); err != nil { // an IPv6 zone may be past writing down again
		return nil, invalid("baseURL", "is not a URL")
	}
	if strings.HasSuffix(s, "#") { // url.Parse drops an empty fragment
		return nil, invalid("baseURL", "has a fragment")
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

func baseURLFault(u *url.URL, insecure bool) string {
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return "does not start with https:// or http://"
	case u.User != nil:
		return "has user information; the API key is an argument of its own"
	case u.Opaque != "" || u.Hostname() == "":
		return "has no host"
	case !utf8.ValidString(u.Host):
		return "has a host that is not UTF-8"
	case !validPort(u):
		return "has an invalid port"
	case u.RawQuery != "" || u.ForceQuery:
		return "has a query"
	case u.Fragment != "":
		return "has a fragment"
	case path.Base(u.Path) != "v1":
		return "does not end in the version prefix /v1"
	case u.RawPath != "" || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/"):
		return "has a path that is not clean"
	case u.Scheme == "http" && !insecure && !loopback(u.Hostname()):
		return "is plain http to a host that is not loopback; see WithInsecureHTTP"
	}
	return ""
}

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// bearer gives the Authorization header of an attempt. It is a closure, so that no dump can reach the key.
type bearer func(context.Context) (authorization, error)

func newBearer(apiKey string, f func(context.Context) (string, error)) (bearer, error) {
	if f == nil {
		if reason := keyFault(apiKey); reason != "" {
			return nil, invalid("apiKey", reason)
		}
		header := bearerToken(apiKey)
		return func(context.Context) (authorization, error) { return header, nil }, nil
	}
	if apiKey != "" {
		return nil, invalid("apiKey", "is given, and WithAPIKeyFunc as well")
	}
	return func(ctx context.Context) (authorization, error) {
		key, err := f(ctx)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, &keyError{func() error { return err }}
		}
		callFrom(ctx).turn.ready = time.Now() // f may have taken its time
		if reason := keyFault(key); reason != "" {
			return nil, errors.New("API key: " + reason)
		}
		return bearerToken(key), nil
	}, nil
}

// keyError is the failure of the function that gives the key. What that says may hold a key that nobody here has
// seen: it is not repeated, and in a closure, where errors.Is finds it and no dump does.
type keyError struct{ cause func() error }

func (e *keyError) Error() string { return "API key: the function of WithAPIKeyFunc failed" }
func (e *keyError) Unwrap() error { return e.cause() }

func bearerToken(key string) authorization {
	header := []string{"Bearer " + key}
	return func() []string { return header }
}

// keyFault says why key cannot be a bearer token (RFC 6750, section 2.1), without repeating it.
func keyFault(key string) string {
	if key == "" {
		return "is empty"
	}
	if len(key) > 7 && strings.EqualFold(key[:7], "bearer ") {
		return "starts with the scheme; give the key alone"
	}
	body := strings.TrimRight(key, "=")
	for i := range len(body) {
		if c := body[i]; !alphanumeric(c) && strings.IndexByte("-._~+/", c) < 0 {
			return "has a character that a bearer token cannot have"
		}
	}
	if body == "" {
		return "is not a bearer token"
	}
	return ""
}

func apiKeyFromEnv() (string, error) {
	key, file := os.Getenv(envAPIKey), os.Getenv(envAPIKeyFile)
	if file == "" {
		return key, nil
	}
	if key != "" {
		return "", invalid(envAPIKeyFile, "is set, and "+envAPIKey+" as well")
	}
	text, err := os.ReadFile(file)
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err // without the path: somebody may have put the key itself there
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", envAPIKeyFile, err)
	}
	key = strings.TrimSpace(string(text))
	if key == "" {
		return "", invalid(envAPIKeyFile, "names an empty file")
	}
	return key, nil
}

// shorter is the shorter of two time limits, of which 0 is none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}
