package petstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/textproto"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/retry"
)

// WithBackground marks a call as background work: it queues behind all other calls and leaves them
// a tenth of each window of the rate limit.
func WithBackground() CallOption {
	return forCall("", "", func(c *callConfig) { c.background = true })
}

// RetryPolicy sets how often a call is retried and with which backoff; the package documentation
// has the table of what is retried. A zero field means its default.
type RetryPolicy struct {
	// MaxAttempts is the largest number of requests per call, including the first. The default is
	// 4; 1 means no retry.
	MaxAttempts int
	// BaseDelay is the backoff before the second request; it doubles with each further one. The
	// default is 500 ms. The second half of each backoff is random.
	BaseDelay time.Duration
	// MaxDelay limits the backoff, but not the Retry-After of the service. The default is 30 s, or
	// BaseDelay if that is longer.
	MaxDelay time.Duration
}

// WithRetryPolicy replaces the retry policy.
func WithRetryPolicy(p RetryPolicy) CallOption {
	problem := cmp.Or(
		when(p.MaxAttempts < 0 || p.BaseDelay < 0 || p.MaxDelay < 0, "has a negative field"),
		when(p.MaxDelay > 0 && p.MaxDelay < p.BaseDelay, "has a MaxDelay below its BaseDelay"))
	return forCall("WithRetryPolicy", problem, func(c *callConfig) { c.retry = retry.Policy(p).WithDefaults() })
}

// WithMaxWait limits the time that a call waits for a new window or the end of a lockout, over all
// its attempts. The default is 2 minutes and 2 seconds, for two windows. A call that would have to
// wait longer fails immediately with a [*RateLimitError]. The limit also applies to the Retry-After
// of each 503, but not to the wait for the responses to requests in flight; see [ratelimit.Limiter].
func WithMaxWait(d time.Duration) CallOption {
	return forCall("WithMaxWait", when(d < 0, "is negative"), func(c *callConfig) { c.maxWait = d })
}

// WithAttemptTimeout limits each attempt, from asking for a connection to the last byte of the
// body, without the waits between attempts. The default is 30 seconds; 0 means that only the
// context limits it. The error of an attempt that takes longer matches [ErrTimeout].
func WithAttemptTimeout(d time.Duration) CallOption {
	return forCall("WithAttemptTimeout", when(d < 0, "is negative"), func(c *callConfig) { c.attemptTimeout = d })
}

// WithCallTimeout limits each call with all its attempts and waits, as if its context had that
// deadline. If a wait for the rate limit would exceed it, the call fails immediately with a
// [*RateLimitError]. A call that is not done in time fails with an error that matches [ErrTimeout]
// and [context.DeadlineExceeded]. The default, 0, means that only the context limits a call.
func WithCallTimeout(d time.Duration) CallOption {
	return forCall("WithCallTimeout", when(d < 0, "is negative"), func(c *callConfig) { c.callTimeout = d })
}

// WithHeader sets a header of the requests, but none that the Client itself sets or relies on:
// Authorization, Accept, Accept-Encoding, Content-Type, Content-Length, Host, User-Agent and those
// about the connection; nor Idempotency-Key, with which net/http would repeat a create.
func WithHeader(key, value string) CallOption {
	name := textproto.CanonicalMIMEHeaderKey(key)
	problem := cmp.Or(
		when(!credential.ValidToken(key), "has an invalid key"),
		when(credential.ReservedHeader(name), name+" is set by the client"),
		when(!credential.ValidHeaderValue(value), name+" has an invalid value"))
	return forCall("WithHeader", problem, func(c *callConfig) {
		header := http.Header{}
		maps.Copy(header, c.header)
		header.Set(name, value)
		c.header = header
	})
}

// Option configures a [Client] in [NewClient].
type Option interface {
	applyClient(c *clientConfig) error
}

// CallOption configures a [Client] in [NewClient], or a single call. An option of the call
// overrides the same option of its client.
type CallOption interface {
	Option
	mayDifferByCall()
}

type clientOption func(*clientConfig) error

func (o clientOption) applyClient(c *clientConfig) error { return o(c) }

type callOption struct{ Option }

func (callOption) mayDifferByCall() {}

// forClient returns an option that sets something; an invalid one if it has a problem.
func forClient(name, problem string, set func(*clientConfig)) Option {
	return clientOption(func(c *clientConfig) error {
		set(c)
		return invalid(name, problem)
	})
}

// forCall is forClient for what may differ from call to call.
func forCall(name, problem string, set func(*callConfig)) CallOption {
	return callOption{forClient(name, problem, func(c *clientConfig) { set(&c.call) })}
}

// Options joins options to one, which applies them in their order.
func Options(opts ...Option) Option {
	return clientOption(func(c *clientConfig) error { return apply(c, opts) })
}

// clientConfig is the result of all options of NewClient.
type clientConfig struct {
	httpClient       *http.Client
	jar              http.CookieJar // of httpClient
	product          string
	stop             context.Context // of WithStop
	keyFunc          func(context.Context) (string, error)
	insecureHTTP     bool
	maxResponseBytes int64
	limiter          Limiter      // nil for none
	limiterSet       bool         // by WithLimiter
	processes        int          // 0 if not known
	told             bool         // processes is of WithProcesses
	logger           *slog.Logger // nil for none
	traces           []*ClientTrace
	wraps            []func(http.RoundTripper) http.RoundTripper
	call             callConfig
}

// callConfig has the settings that may differ from call to call. Calls share it, so neither it nor
// its header is changed in place: an option changes a copy.
type callConfig struct {
	retry          retry.Policy
	maxWait        time.Duration
	attemptTimeout time.Duration
	callTimeout    time.Duration // 0 means none
	background     bool
	header         http.Header
}

// invalid returns an error about an option or argument of NewClient; nil if reason is empty.
// withOperation is for other operations.
func invalid(argument, reason string) error {
	if reason == "" {
		return nil
	}
	return argumentError("NewClient", argument, reason)
}

func argumentError(operation, argument, reason string) error {
	return &ArgumentError{operation, argument, reason}
}

func apply[O Option](c *clientConfig, opts []O) error {
	for i, opt := range opts {
		if any(opt) == nil {
			return invalid(fmt.Sprintf("option %d", i+1), "is nil")
		}
		if err := opt.applyClient(c); err != nil {
			return err
		}
	}
	return nil
}

// withOperation changes the operation of the ArgumentError in err.
func withOperation(err error, operation string) error {
	if e, ok := errors.AsType[*ArgumentError](err); ok {
		e.Operation = operation
	}
	return err
}
