package petstore

import (
	"maps"
	"net/http"
	"net/textproto"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/option"
	"github.com/petstore/petstore-go/internal/retry"
)

// WithBackground marks a call as background work: it queues behind all other calls and leaves them
// a tenth of each window of the rate limit.
func WithBackground() CallOption { return callOption{backgroundKind.Of(option.None{})} }

var backgroundKind = option.New("WithBackground", nil, func(c *callConfig, _ option.None) { c.background = true })

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
func WithRetryPolicy(p RetryPolicy) CallOption { return callOption{retryKind.Of(p)} }

var retryKind = option.New("WithRetryPolicy", func(p RetryPolicy) string {
	switch {
	case p.MaxAttempts < 0 || p.BaseDelay < 0 || p.MaxDelay < 0:
		return "has a negative field"
	case p.MaxDelay > 0 && p.MaxDelay < p.BaseDelay:
		return "has a MaxDelay below its BaseDelay"
	}
	return ""
}, func(c *callConfig, p RetryPolicy) { c.retry = retry.Policy(p).WithDefaults() })

// WithMaxWait limits the time that a call waits for a new window or the end of a closure, over all
// its attempts. The default is 2 minutes and 2 seconds, for two windows. A call that would have to
// wait longer fails immediately with a [*RateLimitError]. The limit also applies to the Retry-After
// of each 503.
//
// The wait for the responses to requests in flight does not count, so that a call with 0 may wait
// for these; see [NewLimiter]. The end of the call's context ends each wait.
func WithMaxWait(d time.Duration) CallOption { return callOption{maxWaitKind.Of(d)} }

var maxWaitKind = option.New("WithMaxWait", negative, func(c *callConfig, d time.Duration) { c.maxWait = d })

// negative is the problem of a time that is negative.
func negative(d time.Duration) string {
	if d < 0 {
		return "is negative"
	}
	return ""
}

// WithAttemptTimeout limits each attempt, from asking for a connection to the last byte of the
// body. The default is 30 seconds; 0 means that only the context limits it. It does not limit the
// waits between attempts; [WithCallTimeout] does.
func WithAttemptTimeout(d time.Duration) CallOption { return callOption{attemptTimeoutKind.Of(d)} }

var attemptTimeoutKind = option.New("WithAttemptTimeout", negative,
	func(c *callConfig, d time.Duration) { c.attemptTimeout = d })

// WithCallTimeout limits each call with all its attempts and waits, as if its context had that
// deadline. If a wait for the rate limit would exceed it, the call fails immediately with a
// [*RateLimitError]. A call that is not done in time fails with an error that matches
// [context.DeadlineExceeded]. The default, 0, means that only the context limits a call.
func WithCallTimeout(d time.Duration) CallOption { return callOption{callTimeoutKind.Of(d)} }

var callTimeoutKind = option.New("WithCallTimeout", negative,
	func(c *callConfig, d time.Duration) { c.callTimeout = d })

// WithHeader sets a header of the requests. It refuses the headers that the Client itself sets or
// relies on: Authorization, Accept, Accept-Encoding, Content-Type, Content-Length, Host, User-Agent
// and those about the connection. It also refuses Idempotency-Key: the service document has none,
// and net/http would repeat a create that has one.
func WithHeader(key, value string) CallOption { return callOption{headerKind.Of(header{key, value})} }

type header struct{ key, value string }

// String returns the arguments without the value, which may be a secret.
func (h header) String() string { return strconv.Quote(h.key) + ", …" }

var headerKind = option.New("WithHeader", func(h header) string {
	key := textproto.CanonicalMIMEHeaderKey(h.key)
	switch {
	case !credential.ValidToken(h.key):
		return "has an invalid key"
	case credential.ReservedHeader(key):
		return key + " is set by the client"
	case !credential.ValidHeaderValue(h.value):
		return key + " has an invalid value"
	}
	return ""
}, func(c *callConfig, h header) {
	c.header = maps.Clone(c.header)
	if c.header == nil {
		c.header = make(http.Header)
	}
	c.header.Set(h.key, h.value)
})
