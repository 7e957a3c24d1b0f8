package petstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/ratelimit"
)

// Option configures a [Client] in [NewClient].
type Option interface {
	// apply changes c, or returns an *ArgumentError about the option of that operation.
	apply(operation string, c *config) error
}

// CallOption configures a [Client] in [NewClient], or a single call. An option of the call
// overrides the same option of its client.
type CallOption interface {
	Option
	ofCall()
}

// option is an Option: set changes the config, unless there is a problem with the argument.
type option struct {
	name, problem string
	set           func(c *config)
	// forAllKeys is for an option that ForKey does not take, because clients with different keys share
	// what it sets.
	forAllKeys bool
}

func (o option) apply(operation string, c *config) error {
	problem := cmp.Or(when(o.forAllKeys && operation == "ForKey", "cannot differ between keys"), o.problem)
	if problem != "" {
		return &ArgumentError{operation, o.name, problem}
	}
	o.set(c)
	return nil
}

// callOption is an option that changes only what may differ between calls.
type callOption struct{ option }

func (callOption) ofCall() {}

func perCall(name, problem string, set func(c *config)) CallOption {
	return callOption{option{name: name, problem: problem, set: set}}
}

// config has the result of the options. A call with options has a copy of that of its client: what
// the fields point to is never changed in place.
type config struct {
	// What clients of different keys share:
	httpClient *http.Client
	// longestAttempt is the Timeout of httpClient; 0 for none.
	longestAttempt time.Duration
	wraps          []func(http.RoundTripper) http.RoundTripper
	insecureHTTP   bool

	// What may differ between clients:
	keyFunc func(context.Context) (string, error)
	stop    context.Context // of WithStop; nil for none
	limiter Limiter
	// limiterSet says that limiter is that of WithLimiter.
	limiterSet bool
	processes  int          // of WithProcesses; 0 for none
	log        *ClientTrace // of WithLogger; nil for none
	traces     []*ClientTrace

	// What may differ between calls:
	retry          RetryPolicy
	maxWait        time.Duration
	attemptTimeout time.Duration // 0 for none
	callTimeout    time.Duration // 0 for none
	background     bool
	header         http.Header
}

// newConfig returns the defaults with opts applied.
func newConfig(opts []Option) (*config, error) {
	c := &config{
		limiter: ratelimit.New(),
		retry:   RetryPolicy{}.withDefaults(),
		// A window of the plans lasts one minute, and its Reset has a grain of a second: this lets a
		// call wait for the next window, and for one more if others use up that one.
		maxWait: 2 * (time.Minute + time.Second),
		// A response that takes longer is taken for lost.
		attemptTimeout: 30 * time.Second,
		header:         http.Header{"Accept": {"application/json"}, "User-Agent": {sdk}},
	}
	return c, apply("NewClient", c, opts)
}

// sdk is the client's own name in the User-Agent header.
const sdk = "petstore-go/" + Version

// apply applies options in their order, and returns the error of the first one that is nil or
// invalid.
func apply[O Option](operation string, c *config, opts []O) error {
	for i, opt := range opts {
		if any(opt) == nil {
			return &ArgumentError{operation, fmt.Sprintf("option %d", i+1), "is nil"}
		}
		if err := opt.apply(operation, c); err != nil {
			return err
		}
	}
	if c.processes > 0 && c.limiterSet {
		const problem = "cannot be combined with WithLimiter; give the number to the limiter"
		return &ArgumentError{operation, "WithProcesses", problem}
	} else if c.processes > 0 {
		c.limiter, c.processes = ratelimit.New(ratelimit.Processes(c.processes)), 0
	}
	return nil
}

// WithHTTPClient makes the Client send through hc's Transport, for which the rules of
// [WithTransport] hold. The Client does not change hc, and never follows redirects. hc.Timeout, if
// set, limits each attempt, not the whole call; the shorter of hc.Timeout and [WithAttemptTimeout]
// applies. A Jar is an error: the service has no cookies.
func WithHTTPClient(hc *http.Client) Option {
	problem := cmp.Or(
		when(hc == nil, "is nil"), when(hc != nil && hc.Jar != nil, "has a Jar, but the service has no cookies"))
	return option{"WithHTTPClient", problem, func(c *config) { c.httpClient, c.longestAttempt = hc, hc.Timeout }, true}
}

// WithTransport wraps the transport that sends the attempts. The function wrap gets the client's
// own transport, which is an *http.Transport, or that of [WithHTTPClient]. It returns the transport
// to use instead, such as a Clone with other settings. NewClient calls it once; the clients of
// [Client.ForKey] share the result, which must be safe for concurrent use. A later WithTransport
// wraps the result of an earlier one. [CallFromContext] returns the call of a request from its
// context.
//
// The transport may read, sign or dump the body. It must pass the context of the request on: its
// hooks of [net/http/httptrace] show whether a failed request was sent. Where these hooks are not
// called, a request counts as sent, unless the error is that of a dial, or wraps [ErrNotSent], as
// that of an open circuit breaker should: the call then ends with it. So a transport without them
// that sends a request to a second host after the first one has failed must not return the refused
// dial of the second: the client would send a write again. docs/scaling.md has the rules for a
// transport that sends further requests, such as one that hedges.
func WithTransport(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return option{"WithTransport", when(wrap == nil, "is nil"), func(c *config) { c.wraps = append(c.wraps, wrap) }, true}
}

// WithInsecureHTTP allows a base URL that is plain http to a host other than loopback. The API key
// is then sent unencrypted.
func WithInsecureHTTP() Option {
	return option{"WithInsecureHTTP", "", func(c *config) { c.insecureHTTP = true }, true}
}

// WithStop lets a program stop without losing anything. When ctx ends, calls that wait or begin end
// at once, and so do reads. Writes that were sent finish. A call that ends fails with a
// [*TransportError] that matches [ErrStopped] and, if you cancelled ctx with a cause of your own,
// that cause; after a 429 it wraps the error of that, too. It matches neither [context.Canceled]
// nor [context.DeadlineExceeded]: these are always about the call's own context. So do not also use
// ctx as the context of calls. See examples/bulkimport.
func WithStop(ctx context.Context) Option {
	return option{"WithStop", when(ctx == nil, "is nil"), func(c *config) { c.stop = ctx }, false}
}

// WithRetryPolicy replaces the whole retry policy. A field that is zero in p gets its default, even
// if the client's own policy has another value there.
func WithRetryPolicy(p RetryPolicy) CallOption {
	problem := cmp.Or(
		when(p.MaxAttempts < 0 || p.BaseDelay < 0 || p.MaxDelay < 0, "has a negative field"),
		when(p.MaxDelay > 0 && p.MaxDelay < p.BaseDelay, "has a MaxDelay below its BaseDelay"))
	return perCall("WithRetryPolicy", problem, func(c *config) { c.retry = p.withDefaults() })
}

// WithAttemptTimeout limits each attempt, from asking for a connection to the last byte of the
// body, without the waits between attempts. The default is 30 seconds; 0 means that only the
// context limits it. The error of an attempt that takes longer matches [ErrTimeout].
func WithAttemptTimeout(d time.Duration) CallOption {
	return perCall("WithAttemptTimeout", when(d < 0, "is negative"), func(c *config) { c.attemptTimeout = d })
}

// WithCallTimeout limits each call with all its attempts and waits. If a wait for the rate limit
// would exceed it, the call fails immediately with a [*RateLimitError]. A call that is not done in
// time fails with an error that matches [ErrTimeout], but not [context.DeadlineExceeded], which is
// about the caller's own deadline. The default, 0, means that only the context limits a call.
func WithCallTimeout(d time.Duration) CallOption {
	return perCall("WithCallTimeout", when(d < 0, "is negative"), func(c *config) { c.callTimeout = d })
}

// WithHeader sets a header of the requests, such as an id by which the service's support finds a
// call: WithHeader("X-Request-ID", id). A User-Agent, such as myapp/1.2, stands before the SDK's
// own. It is an error to set another header that the Client itself sets or relies on, such as
// Authorization, Accept, Content-Type, Host and those about the connection. Idempotency-Key is
// refused, too, because with it net/http would repeat a create. A later WithHeader replaces an
// earlier one with the same key, and no other.
func WithHeader(key, value string) CallOption {
	name := textproto.CanonicalMIMEHeaderKey(key)
	refused := name == "Idempotency-Key" || name == "X-Idempotency-Key"
	problem := cmp.Or(
		when(!credential.ValidToken(key), "has an invalid key"),
		when(refused, name+" is refused: with it, net/http would repeat a create"),
		when(slices.Contains(reservedHeaders, name), name+" is set by the client"),
		when(!credential.ValidHeaderValue(value), "has an invalid value"))
	if name == "User-Agent" {
		value += " " + sdk
	}
	return perCall("WithHeader", problem, func(c *config) {
		c.header = maps.Clone(c.header)
		c.header.Set(name, value)
	})
}

// reservedHeaders are those that the client itself sets, or relies on.
var reservedHeaders = []string{
	"Authorization", "Accept", "Accept-Encoding", "Content-Type", "Content-Length", "Content-Encoding", "Host",
	"Connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding",
	"Upgrade", "Expect",
}
