package petstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/ratelimit"
)

// Option configures a [Client] in [NewClient].
type Option interface {
	// apply changes c, or returns an *ArgumentError of the operation that got the option.
	apply(opName string, c *config) error
}

// CallOption configures a [Client] in [NewClient], or a single call. An option of the call
// overrides the same option of its client.
type CallOption interface {
	Option
	ofCall()
}

// option is an Option: set changes the config, unless there is a problem with the argument. It also
// is a CallOption, but a function with the result type Option does not show this to its callers.
type option struct {
	name, problem string
	set           func(c *config)
}

func (o option) apply(opName string, c *config) error {
	if o.problem != "" {
		return &ArgumentError{opName, o.name, o.problem}
	}
	o.set(c)
	return nil
}

func (option) ofCall() {}

// clientOption is an option that ForKey does not take, because clients with different keys share
// what the option sets.
type clientOption option

func (o clientOption) apply(opName string, c *config) error {
	if c.forKey {
		o.problem = "cannot differ between keys"
	}
	return option(o).apply(opName, c)
}

// config has the result of the options. A call with options gets a shallow copy of the config of
// its client, so no option may modify in place what a field points to.
type config struct {
	// What clients of different keys share:
	transport    http.RoundTripper // of WithHTTPClient; nil for the client's own
	wraps        []func(http.RoundTripper) http.RoundTripper
	insecureHTTP bool

	// What may differ between clients:
	forKey  bool // of a client of ForKey
	keyFunc func(context.Context) (string, error)
	stop    context.Context // of WithStop; nil for none
	limiter Limiter
	log     *ClientTrace // of WithLogger; nil for none
	traces  []*ClientTrace

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
		// A window lasts a minute, and a second more because its Reset is rounded. Twice this time
		// lets a call wait for the next window, and for another one if others use up the next.
		maxWait: 2 * (time.Minute + time.Second),
		// A response that takes longer counts as lost.
		attemptTimeout: 30 * time.Second,
		header:         http.Header{"Accept": {"application/json"}, "User-Agent": {sdk}},
	}
	return c, apply("NewClient", c, opts)
}

// Version is the version of this module; it is part of the User-Agent.
const Version = "1.0.0"

// sdk is the client's own name in the User-Agent header.
const sdk = "petstore-go/" + Version

// apply applies options in their order, and returns the error of the first one that is nil or
// invalid.
func apply[O Option](opName string, c *config, opts []O) error {
	for i, opt := range opts {
		if any(opt) == nil {
			return &ArgumentError{opName, fmt.Sprintf("option %d", i+1), "is nil"}
		}
		if err := opt.apply(opName, c); err != nil {
			return err
		}
	}
	return nil
}

// WithHTTPClient makes the Client send through hc's Transport, for which the rules of
// [WithTransport] apply. The Client does not change hc, and never follows redirects. hc.Timeout, if
// set, limits each attempt, not the whole call: it has the effect of [WithAttemptTimeout], and the
// later one of both options counts. A Jar is not used: the service has no cookies.
//
// To change settings of the transport, better use WithTransport with a Clone: the Client closes
// idle connections of such a transport when one turns out to be dead. It must not close those of
// hc, so net/http may send a read once more on each of them.
func WithHTTPClient(hc *http.Client) Option {
	return clientOption{"WithHTTPClient", when(hc == nil, "is nil"), func(c *config) {
		c.transport = cmp.Or(hc.Transport, http.DefaultTransport)
		if hc.Timeout > 0 {
			c.attemptTimeout = hc.Timeout
		}
	}}
}

// WithTransport wraps the transport that sends the requests. NewClient calls wrap once, with the
// transport of [WithHTTPClient] or, without this option, with the client's own *http.Transport. The
// client sends through the transport that wrap returns, such as a Clone with other settings. The
// returned transport must be safe for concurrent use, also by the clients of [Client.ForKey]. A
// later WithTransport wraps the result of an earlier one. [CallFromContext] returns the call of a
// request from its context.
//
// The transport may read, sign or dump the body. The client learns from [net/http/httptrace] hooks,
// in the context of the request, whether a failed request was sent. So:
//
//   - The transport must pass on the context of the request.
//   - A transport without net/http calls no hooks. Its failed requests count as sent, unless the
//     error is that of a dial, or wraps [ErrNotSent]. After it has sent a request to one host, it
//     must not return the error of a dial to another host: the client would send a write again.
//   - An open circuit breaker should return an error that wraps ErrNotSent: this ends the call.
//
// docs/scaling.md has more rules for transports.
func WithTransport(wrap func(http.RoundTripper) http.RoundTripper) Option {
	problem := when(wrap == nil, "is nil")
	return clientOption{"WithTransport", problem, func(c *config) { c.wraps = append(c.wraps, wrap) }}
}

// WithInsecureHTTP allows a base URL that is plain http to a host other than loopback. The API key
// is then sent unencrypted.
func WithInsecureHTTP() Option {
	return clientOption{"WithInsecureHTTP", "", func(c *config) { c.insecureHTTP = true }}
}

// WithAPIKeyFunc is for one identity whose API key rotates. The client calls f at the beginning of
// each attempt. It calls f again after it has waited a second or more for a permit, because the key
// may have changed during the wait. For tenants, use [Client.ForKey] instead. The apiKey of
// NewClient must be "". f gets a context with the values and the timeout of an attempt, and must be
// safe for concurrent use. If f fails, or returns a string that cannot be a bearer token, nothing
// is sent, and the call fails with a [*TransportError]. This error matches f's error but does not
// repeat its text, which may contain a key.
//
// After a 401 that does not follow another 401, the client calls f again, if [RetryPolicy] allows
// another attempt. If f then returns another key, the client sends the request again with that key.
// A create is sent again, too, because the service has not carried out the refused one.
func WithAPIKeyFunc(f func(context.Context) (string, error)) Option {
	return clientOption{"WithAPIKeyFunc", when(f == nil, "is nil"), func(c *config) { c.keyFunc = f }}
}

// APIKeyFile returns a function for [WithAPIKeyFunc] that reads the key from a file each time: a
// regular file, or a link to one. White space around the key is ignored. An error of the function
// matches its cause, such as [io/fs.ErrNotExist]. The error never contains path, because a user may
// have passed the key itself by mistake. A program that changes the key should write a new file and
// rename it to path, so that no call reads half of a key.
func APIKeyFile(path string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return credential.ReadFile(path) }
}

// WithStop lets a program stop without losing the outcome of a write. When ctx ends, a write that
// was passed to the transport gets its response. All other calls end at once, also those that
// begin later.
//
// These calls fail with a [*TransportError] that matches [ErrStopped] and, if you cancelled ctx
// with a cause of your own, that cause. If the call waited after a failed attempt, such as a 429,
// the error also wraps that of the attempt. It matches neither [context.Canceled] nor
// [context.DeadlineExceeded], which are always about the call's own context: so do not also use ctx
// as the context of calls. See examples/bulkimport.
func WithStop(ctx context.Context) Option {
	return option{"WithStop", when(ctx == nil, "is nil"), func(c *config) { c.stop = ctx }}
}

// WithTrace makes the Client call the functions of a copy of t during each call. With several
// WithTrace options, the functions are called in the order of the options.
func WithTrace(t *ClientTrace) Option {
	problem := when(t == nil, "is nil")
	return option{"WithTrace", problem, func(c *config) { c.traces = append(c.traces, t.complete()) }}
}

// WithRetryPolicy replaces the whole retry policy. A field that is zero in p gets its default, even
// if the client's own policy has another value there.
func WithRetryPolicy(p RetryPolicy) CallOption {
	problem := cmp.Or(
		when(p.MaxAttempts < 0 || p.BaseDelay < 0 || p.MaxDelay < 0, "has a negative field"),
		when(p.MaxDelay > 0 && p.MaxDelay < p.BaseDelay, "has a MaxDelay below its BaseDelay"))
	return option{"WithRetryPolicy", problem, func(c *config) { c.retry = p.withDefaults() }}
}

// WithAttemptTimeout limits the time of each attempt from asking for a connection to the last byte
// of the body. Waits before that do not count. The default is 30 seconds; 0 means that only the
// context limits an attempt. The error of an attempt that takes longer matches [ErrTimeout].
func WithAttemptTimeout(d time.Duration) CallOption {
	return option{"WithAttemptTimeout", when(d < 0, "is negative"), func(c *config) { c.attemptTimeout = d }}
}

// WithCallTimeout limits each call with all its attempts and waits. If a wait for the rate limit
// would exceed it, the call fails immediately with a [*RateLimitError]. A call that is not done in
// time fails with an error that matches [ErrTimeout], but not [context.DeadlineExceeded], which is
// about the caller's own deadline. The default, 0, means that only the context limits a call.
func WithCallTimeout(d time.Duration) CallOption {
	return option{"WithCallTimeout", when(d < 0, "is negative"), func(c *config) { c.callTimeout = d }}
}

// WithHeader sets a header of the requests, such as an id by which the service's support finds a
// call: WithHeader("X-Request-ID", id). The value of a User-Agent, such as myapp/1.2, is put before
// that of the SDK. It is an error to set another header that the Client sets or relies on:
// Authorization, Accept, Content-Type, Host, those about the connection, and some more. It is also
// an error to set an Idempotency-Key, because net/http would then repeat a write without a body. A
// later WithHeader replaces only an earlier one with the same key.
func WithHeader(key, value string) CallOption {
	name := http.CanonicalHeaderKey(key)
	problem := credential.HeaderProblem(name, value)
	if name == "User-Agent" {
		value += " " + sdk
	}
	return option{"WithHeader", problem, func(c *config) {
		c.header = maps.Clone(c.header)
		c.header.Set(name, value)
	}}
}

// WithLimiter replaces the Client's own limiter, which is a [ratelimit.Limiter]. Give one limiter
// to all clients with the same API key, so that they share the budget of that key; one limiter may
// serve many keys. A nil limiter switches limiting off: a call then still waits for the Retry-After
// of its own 429, or backs off if there is none.
func WithLimiter(l Limiter) Option {
	return option{"WithLimiter", "", func(c *config) { c.limiter = l }}
}

// WithProcesses says how many processes use the API key, this one included, each with a limiter of
// its own; see [ratelimit.Processes]. It replaces an earlier [WithLimiter], and a later WithLimiter
// replaces it: give the number to that limiter. With [NewClientFromEnv], PETSTORE_PROCESSES has the
// same effect, unless there is a WithProcesses or a WithLimiter.
func WithProcesses(n int) Option {
	return option{"WithProcesses", when(n < 1, "must be positive"), func(c *config) {
		c.limiter = ratelimit.New(ratelimit.Processes(n))
	}}
}

// WithMaxWait limits the time that a call waits for the rate limit, in all attempts together. The
// default is 2 minutes and 2 seconds, which is enough for the ends of two windows. With 0, a call
// never waits for the end of a window. If the limiter knows that the wait would be too long, the
// call fails immediately with a [*RateLimitError]. If the limiter cannot know, the call fails after
// a wait of d and one second. It cannot know while nothing is known about the limit, or while as
// many requests are in flight as the limiter allows: then the call waits for the next response.
//
// A 503 with a Retry-After ends the call of a read with an [*APIError] if the pause, which is
// Retry-After plus the backoff, is longer than what is left of d. Such a pause takes nothing from
// d.
func WithMaxWait(d time.Duration) CallOption {
	return option{"WithMaxWait", when(d < 0, "is negative"), func(c *config) { c.maxWait = d }}
}

// WithBackground marks a call as background work: it queues behind all other calls. If there were
// other calls in the last two minutes, background calls leave a tenth of each window to them. A
// client with this option makes only such calls.
func WithBackground() CallOption {
	return option{"WithBackground", "", func(c *config) { c.background = true }}
}

// Limiter decides when a request may be sent with an API key. A [Client] calls Acquire before each
// request, with a [Call].KeyID as the key. It calls Release of the permit as soon as the header of
// the response has arrived. The default is a [ratelimit.Limiter]; the module petstoreredis has a
// limiter for several processes. An implementation must be safe for concurrent use. Package
// ratelimittest has tests for implementations.
type Limiter interface {
	// Acquire blocks until one request may be sent. If the wait would be longer than r.MaxWait, or
	// would exceed the deadline of ctx, Acquire returns a *[ratelimit.Error] immediately, and the
	// call fails with a [*RateLimitError]. The deadline of ctx is that of the call. After any other
	// error, the call fails with a [*TransportError] that wraps the error, and makes no other
	// attempt. With an error, Acquire returns no permit. It returns none before r.NotBefore.
	Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error)
	// RateLimit returns the most recent rate limit known for a key; the zero RateLimit before the
	// first response.
	RateLimit(key string) RateLimit
	// Reopen admits the next request of a key although the key is closed, or its window used up. It
	// does not block, and has no effect if no limit holds requests back.
	Reopen(key string)
}

// RateLimit is the window of the rate limit according to the X-RateLimit headers of one response
// (section 8.2): Limit, Remaining and Reset. The zero RateLimit means that nothing is known, for
// instance because a header is missing or malformed.
type RateLimit = ratelimit.Window
