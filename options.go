package petstore

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"
)

// What a Client does unless told otherwise.
const (
	defaultMaxWait          = 2 * time.Minute
	defaultAttemptTimeout   = 30 * time.Second
	defaultMaxResponseBytes = 10 << 20
)

// Option configures a [Client] in [NewClient].
type Option interface {
	applyClient(*clientConfig) error
}

// CallOption configures a [Client] in [NewClient], or a single call. What a call is given goes before
// what its client was given.
type CallOption interface {
	Option
	applyCall(*callConfig) error
}

// clientConfig is what the options of NewClient add up to.
type clientConfig struct {
	httpClient       *http.Client
	product          string
	keyFunc          func(context.Context) (string, error)
	insecureHTTP     bool
	maxResponseBytes int64
	limiter          Limiter
	traces           []*ClientTrace
	wraps            []func(http.RoundTripper) http.RoundTripper
	call             callConfig
}

// callConfig is what may differ from call to call. Calls share it, and it is copied: neither it nor its header is ever
// changed in place.
type callConfig struct {
	retry          RetryPolicy
	maxWait        time.Duration
	attemptTimeout time.Duration
	callTimeout    time.Duration // 0: none
	background     bool
	header         http.Header
}

// invalid says what is wrong with an option or argument; who received it adds the operation.
func invalid(argument, reason string) *ArgumentError {
	return &ArgumentError{Argument: argument, Reason: reason}
}

type clientOption func(*clientConfig) error

func (o clientOption) applyClient(c *clientConfig) error { return o(c) }

type callOption func(*callConfig) error

func (o callOption) applyClient(c *clientConfig) error { return o(&c.call) }
func (o callOption) applyCall(c *callConfig) error     { return o(c) }

// durationOption sets the field of a callConfig to a time that is not negative.
func durationOption(name string, d time.Duration, field func(*callConfig) *time.Duration) CallOption {
	return callOption(func(c *callConfig) error {
		if d < 0 {
			return invalid(name, "is negative")
		}
		*field(c) = d
		return nil
	})
}

// WithHTTPClient makes the Client send through hc's Transport and keep cookies in hc's Jar. hc itself is
// copied and left alone. Redirects are not followed whatever hc says, and hc.Timeout, if set, bounds each
// attempt rather than the whole call: the shorter of it and the client's [WithAttemptTimeout] counts.
func WithHTTPClient(hc *http.Client) Option {
	return clientOption(func(c *clientConfig) error {
		if hc == nil {
			return invalid("WithHTTPClient", "is nil")
		}
		c.httpClient = hc
		return nil
	})
}

// WithLogger makes the Client log each attempt at level Debug and each wait at level Info.
// Neither the API key nor a body is ever logged. A nil logger, the default, logs nothing.
func WithLogger(l *slog.Logger) Option {
	return clientOption(func(c *clientConfig) error {
		if l != nil {
			c.traces = append(c.traces, logTrace(l))
		}
		return nil
	})
}

// WithUserAgent puts product, such as "myapp/1.2", before the SDK's own name in the User-Agent header.
func WithUserAgent(product string) Option {
	return clientOption(func(c *clientConfig) error {
		if strings.TrimSpace(product) == "" || !validHeaderValue(product) {
			return invalid("WithUserAgent", "is empty or not a valid header value")
		}
		c.product = product
		return nil
	})
}

// WithAPIKeyFunc asks f for the API key before every attempt, for keys that rotate; the apiKey of
// NewClient is then "". f is called from many goroutines at once and with the attempt's context. If it
// fails, or returns what cannot be a bearer token, the call fails with a [*TransportError] and nothing
// is sent. The text of that does not repeat what f's error says, which may hold a key; [errors.Is] and
// [errors.AsType] find f's error.
func WithAPIKeyFunc(f func(context.Context) (string, error)) Option {
	return clientOption(func(c *clientConfig) error {
		if f == nil {
			return invalid("WithAPIKeyFunc", "is nil")
		}
		c.keyFunc = f
		return nil
	})
}

// WithInsecureHTTP permits a base URL that is plain http and not loopback. The API key then travels in
// the clear.
func WithInsecureHTTP() Option {
	return clientOption(func(c *clientConfig) error {
		c.insecureHTTP = true
		return nil
	})
}

// WithMaxResponseBytes bounds the body of a response, counted after decompression. The default is
// 10 MiB. A success with a longer body is a [*ResponseError].
func WithMaxResponseBytes(n int64) Option {
	return clientOption(func(c *clientConfig) error {
		if n <= 0 {
			return invalid("WithMaxResponseBytes", "must be positive")
		}
		c.maxResponseBytes = n
		return nil
	})
}

// WithLimiter replaces the limiter that the Client makes for itself. Give one limiter to all clients of
// one API key; they share its budget. A nil limiter switches limiting off: a call then still waits out
// the Retry-After of its own 429.
func WithLimiter(l Limiter) Option {
	return clientOption(func(c *clientConfig) error {
		c.limiter = l
		return nil
	})
}

// WithTransport wraps the transport that sends the attempts: wrap is given the client's own, tuned one, or that of
// [WithHTTPClient], and returns what is used instead. It is called once for each client, and after that of an earlier
// WithTransport. The result must be safe for concurrent use. A request's context shows its call: [CallFromContext].
func WithTransport(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return clientOption(func(c *clientConfig) error {
		if wrap == nil {
			return invalid("WithTransport", "is nil")
		}
		c.wraps = append(c.wraps, wrap)
		return nil
	})
}

// WithTrace has the Client call the functions of t on the way of each call. Several traces are called in the
// order in which they were given. t is copied; a nil t is refused.
func WithTrace(t *ClientTrace) Option {
	return clientOption(func(c *clientConfig) error {
		if t == nil {
			return invalid("WithTrace", "is nil")
		}
		trace := *t
		c.traces = append(c.traces, &trace)
		return nil
	})
}

// WithBackground marks a call as background work: it queues behind all others and leaves them a reserve of each
// window of the rate limit; see [NewLimiter].
func WithBackground() CallOption {
	return callOption(func(c *callConfig) error {
		c.background = true
		return nil
	})
}

// WithRetryPolicy replaces the retry policy. See the package documentation for what is retried.
func WithRetryPolicy(p RetryPolicy) CallOption {
	return callOption(func(c *callConfig) error {
		if p.MaxAttempts < 0 || p.BaseDelay < 0 || p.MaxDelay < 0 {
			return invalid("WithRetryPolicy", "has a negative field")
		}
		if p.MaxDelay > 0 && p.MaxDelay < p.BaseDelay {
			return invalid("WithRetryPolicy", "has a MaxDelay below its BaseDelay")
		}
		c.retry = p.withDefaults()
		return nil
	})
}

// WithMaxWait bounds how long a call waits for the rate limit, over all its attempts. The default is
// 2 minutes, 0 means never to wait. A call that would have to wait longer fails at once with a
// [*RateLimitError]. It also bounds the Retry-After of each 503.
func WithMaxWait(d time.Duration) CallOption {
	return durationOption("WithMaxWait", d, func(c *callConfig) *time.Duration { return &c.maxWait })
}

// WithAttemptTimeout bounds each attempt, from asking for a connection to the last byte of the body.
// The default is 30 seconds, 0 means no bound but the context's. It does not bound waits: that is
// [WithCallTimeout].
func WithAttemptTimeout(d time.Duration) CallOption {
	return durationOption("WithAttemptTimeout", d, func(c *callConfig) *time.Duration { return &c.attemptTimeout })
}

// WithCallTimeout bounds each call with all its attempts and waits, as if its context had that deadline: a wait
// for the rate limit that would be longer fails at once with a [*RateLimitError], and what is not over by
// then ends with an error that matches [context.DeadlineExceeded]. The default, 0, means no bound but the
// context's.
func WithCallTimeout(d time.Duration) CallOption {
	return durationOption("WithCallTimeout", d, func(c *callConfig) *time.Duration { return &c.callTimeout })
}

// WithHeader sets a header of the requests. Headers that are the Client's business are refused:
// Authorization, Accept, Accept-Encoding, Content-Type, Content-Length, Host, User-Agent and those that
// concern the connection. So is Idempotency-Key: the document knows none, and net/http would take it for
// leave to repeat a create.
func WithHeader(key, value string) CallOption {
	return callOption(func(c *callConfig) error {
		if !validToken(key) {
			return invalid("WithHeader", "has an invalid key")
		}
		key := textproto.CanonicalMIMEHeaderKey(key)
		if reservedHeader(key) {
			return invalid("WithHeader", key+" is set by the client")
		}
		if !validHeaderValue(value) {
			return invalid("WithHeader", key+" has an invalid value")
		}
		c.header = maps.Clone(c.header)
		if c.header == nil {
			c.header = make(http.Header)
		}
		c.header[key] = []string{value}
		return nil
	})
}

// newClientConfig is the defaults with opts applied.
func newClientConfig(opts []Option) (*clientConfig, error) {
	c := &clientConfig{
		maxResponseBytes: defaultMaxResponseBytes,
		limiter:          NewLimiter(),
		call: callConfig{
			retry:          RetryPolicy{}.withDefaults(),
			maxWait:        defaultMaxWait,
			attemptTimeout: defaultAttemptTimeout,
		},
	}
	for i, opt := range opts {
		if opt == nil {
			return nil, invalid(fmt.Sprintf("option %d", i+1), "is nil")
		}
		if err := opt.applyClient(c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// with is c with opts applied, c itself if there are none.
func (c *callConfig) with(opts []CallOption) (*callConfig, error) {
	if len(opts) == 0 {
		return c, nil
	}
	changed := *c
	for i, opt := range opts {
		if opt == nil {
			return nil, invalid(fmt.Sprintf("option %d", i+1), "is nil")
		}
		if err := opt.applyCall(&changed); err != nil {
			return nil, err
		}
	}
	return &changed, nil
}

func reservedHeader(key string) bool {
	return slices.Contains([]string{
		"Authorization", "Accept", "Accept-Encoding", "Content-Type", "Content-Length", "Host", "User-Agent",
		"Connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Expect", "Content-Encoding",
		"Idempotency-Key", "X-Idempotency-Key", // for which net/http repeats a POST in silence
	}, key)
}

// validToken reports whether s is a token of RFC 9110, section 5.6.2, as header names are.
func validToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; !alphanumeric(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// validHeaderValue reports whether s can be sent as a header value: no control character but the tab.
func validHeaderValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
