package petstore

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// The defaults of a Client.
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
	rawBody        bool
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

// WithLogger makes the Client log to l. The messages, levels and attributes are stable:
//
//	petstore: attempt               Debug  method path attempt duration status rate_limit retry_after error
//	petstore: waiting               Debug  reason until waiting
//	petstore: rate limit closed     Warn   scope until waiting; once for each closure
//	petstore: rate limit open again Info   scope until waiting; once for each closure
//	petstore: deprecated operation  Warn   removal instead; once for each client
//
// Each line has operation and call_id, which all lines of a call have in common. The words of reason are those of
// [WaitReason], those of scope of [LimitScope]; what is not known is left out. Neither the API key nor a body is ever
// logged. A nil logger, the default, logs nothing.
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
//
// If the service answers 401, f is asked once more within the call, with [Call].KeyRefused in its context. If it then
// gives another key, the request is sent again with that, also a create: a request answered 401 was not
// carried out.
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
//
// If the result has a method Unwrap() http.RoundTripper that returns what it wraps, and sends by nothing else, the
// client knows as much of its connections as without it: after a failure it can say that nothing was sent.
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
