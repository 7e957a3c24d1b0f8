package petstore

import (
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/retry"
)

// WithBackground marks a call as background work: it queues behind all other calls and leaves them
// a reserve of each window of the rate limit; see [BackgroundReserve].
func WithBackground() CallOption {
	return callValue(backgroundKind, none{})
}

var backgroundKind = &optionKind[callConfig, none]{"WithBackground", func(c *callConfig, _ none) error {
	c.background = true
	return nil
}, noText}

// WithRawBody keeps the unchanged body of a success in [Response].RawBody, for instance to read a
// field that the service document does not name.
func WithRawBody() CallOption { return callValue(rawBodyKind, none{}) }

var rawBodyKind = &optionKind[callConfig, none]{"WithRawBody", func(c *callConfig, _ none) error {
	c.rawBody = true
	return nil
}, noText}

// RetryPolicy sets how often a call is retried and with which backoff; the package documentation
// has the table of what is retried. A zero field means its default, so the zero RetryPolicy is the
// default.
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

// WithRetryPolicy replaces the retry policy. The package documentation has the table of what is
// retried.
func WithRetryPolicy(p RetryPolicy) CallOption {
	return callValue(retryKind, p)
}

var retryKind = &optionKind[callConfig, RetryPolicy]{"WithRetryPolicy", func(c *callConfig, p RetryPolicy) error {
	if p.MaxAttempts < 0 || p.BaseDelay < 0 || p.MaxDelay < 0 {
		return invalid("WithRetryPolicy", "has a negative field")
	}
	if p.MaxDelay > 0 && p.MaxDelay < p.BaseDelay {
		return invalid("WithRetryPolicy", "has a MaxDelay below its BaseDelay")
	}
	c.retry = retry.Policy(p).WithDefaults()
	return nil
}, func(p RetryPolicy) string { return fmt.Sprintf("%+v", p) }}

// WithMaxWait limits the time that a call waits for a new window or the end of a closure, over all
// its attempts. The default is 2 minutes and 2 seconds, for two windows. A call that would have to
// wait longer fails immediately with a [*RateLimitError]. The limit also applies to the Retry-After
// of each 503.
//
// The wait for the responses to requests in flight does not count, so that a call with 0 may wait
// for these; see [NewLimiter]. The end of the call's context ends each wait.
func WithMaxWait(d time.Duration) CallOption {
	return callValue(maxWaitKind, d)
}

var maxWaitKind = durationKind("WithMaxWait", func(c *callConfig) *time.Duration { return &c.maxWait })

// WithAttemptTimeout limits each attempt, from asking for a connection to the last byte of the
// body. The default is 30 seconds; 0 means that only the context limits it. It does not limit the
// waits between attempts; [WithCallTimeout] does.
func WithAttemptTimeout(d time.Duration) CallOption {
	return callValue(attemptTimeoutKind, d)
}

var attemptTimeoutKind = durationKind("WithAttemptTimeout",
	func(c *callConfig) *time.Duration { return &c.attemptTimeout })

// WithCallTimeout limits each call with all its attempts and waits, as if its context had that
// deadline. If a wait for the rate limit would exceed it, the call fails immediately with a
// [*RateLimitError]. A call that is not done in time fails with an error that matches
// [context.DeadlineExceeded]. The default, 0, means that only the context limits a call.
func WithCallTimeout(d time.Duration) CallOption {
	return callValue(callTimeoutKind, d)
}

var callTimeoutKind = durationKind("WithCallTimeout", func(c *callConfig) *time.Duration { return &c.callTimeout })

// WithHeader sets a header of the requests. It refuses the headers that the Client itself sets or
// relies on: Authorization, Accept, Accept-Encoding, Content-Type, Content-Length, Host, User-Agent
// and those about the connection. It also refuses Idempotency-Key: the service document has none,
// and net/http would repeat a create that has one.
func WithHeader(key, value string) CallOption {
	return callValue(headerKind, header{key, value})
}

type header struct{ key, value string }

// The value may be a secret.
var headerKind = &optionKind[callConfig, header]{"WithHeader", func(c *callConfig, h header) error {
	if !credential.ValidToken(h.key) {
		return invalid("WithHeader", "has an invalid key")
	}
	key := textproto.CanonicalMIMEHeaderKey(h.key)
	if credential.ReservedHeader(key) {
		return invalid("WithHeader", key+" is set by the client")
	}
	if !credential.ValidHeaderValue(h.value) {
		return invalid("WithHeader", key+" has an invalid value")
	}
	c.header = maps.Clone(c.header)
	if c.header == nil {
		c.header = make(http.Header)
	}
	c.header[key] = []string{h.value}
	return nil
}, func(h header) string { return strconv.Quote(h.key) + ", …" }}

// durationKind is the kind of an option that sets a field of a callConfig to a time that is not
// negative.
func durationKind(name string, field func(*callConfig) *time.Duration) *optionKind[callConfig, time.Duration] {
	return &optionKind[callConfig, time.Duration]{name: name, apply: func(c *callConfig, d time.Duration) error {
		if d < 0 {
			return invalid(name, "is negative")
		}
		*field(c) = d
		return nil
	}}
}
