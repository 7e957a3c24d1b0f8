package petstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/ratelimit"
)

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

// clientOption makes an Option of a function.
type clientOption func(*clientConfig) error

func (o clientOption) applyClient(c *clientConfig) error { return o(c) }

// callOption makes a CallOption of an Option that changes only what may differ from call to call.
type callOption struct{ Option }

func (callOption) mayDifferByCall() {}

// forAllKeys is forClient for an option that ForKey does not take, because clients with different
// keys share what it sets.
func forAllKeys(name, problem string, set func(*clientConfig)) Option {
	return clientOption(func(c *clientConfig) error {
		if c.forKey {
			return invalid(name, "cannot differ between keys")
		}
		return forClient(name, problem, set).applyClient(c)
	})
}

// forClient returns an option that calls set; the option is invalid unless problem is empty.
func forClient(name, problem string, set func(*clientConfig)) Option {
	return clientOption(func(c *clientConfig) error {
		set(c)
		return invalid(name, problem)
	})
}

// forCall is forClient for an option that may differ from call to call.
func forCall(name, problem string, set func(*callConfig)) CallOption {
	return callOption{forClient(name, problem, func(c *clientConfig) { set(&c.call) })}
}

// Options joins options to one, which applies them in their order.
func Options(opts ...Option) Option {
	return clientOption(func(c *clientConfig) error { return apply(c, opts) })
}

// clientConfig has the settings of a client: the result of all its options.
type clientConfig struct {
	// forKey is set while the options of ForKey are applied: some options are errors then.
	forKey bool

	// The same for all keys:
	httpClient *http.Client
	// longestAttempt is the Timeout of httpClient; 0 for none.
	longestAttempt time.Duration
	wraps          []func(http.RoundTripper) http.RoundTripper
	insecureHTTP   bool
	keyFunc        func(context.Context) (string, error)

	product string
	// stop is the context of WithStop. Without the option, it never ends.
	stop             context.Context
	maxResponseBytes int64
	limiter          Limiter
	// limiterOption is the name of the option that set limiter; empty for none. WithLimiter and
	// WithProcesses exclude each other.
	limiterOption string
	// log is the trace that writes the log of WithLogger; nil for none.
	log    *ClientTrace
	traces []*ClientTrace
	call   callConfig
}

// callConfig has the settings that may differ from call to call. Many calls use the same one at
// once, so neither it nor its header is ever changed in place: an option changes a copy.
type callConfig struct {
	retry          retry.Policy
	maxWait        time.Duration
	attemptTimeout time.Duration
	callTimeout    time.Duration // 0 means none
	background     bool
	header         http.Header
}

// newClientConfig returns the defaults with opts applied.
func newClientConfig(opts []Option) (*clientConfig, error) {
	c := &clientConfig{
		// 10 MiB hold about 100,000 pets of 100 bytes; the document allows 100 pets.
		maxResponseBytes: 10 << 20,
		stop:             context.Background(), // never ends
		limiter:          ratelimit.New(),
		call: callConfig{
			retry: retry.Policy{}.WithDefaults(),
			// A window of the plans lasts one minute, and its Reset has a grain of a second: this
			// lets a call wait for the next window, and for one more if others use up that one.
			maxWait: 2 * (time.Minute + time.Second),
			// A response that takes longer is taken for lost.
			attemptTimeout: 30 * time.Second,
		},
	}
	return c, c.apply(opts)
}

// apply applies opts, and checks what follows from several of them.
func (c *clientConfig) apply(opts []Option) error {
	if err := apply(c, opts); err != nil {
		return err
	}
	return invalid("WithHeader", reservedFor(new(operation), c.call.header))
}

// reservedFor returns what is wrong with a header of WithHeader that the client sets itself for an
// operation; empty if nothing is. Where Do sends or returns a body as it is, its caller may set
// these headers.
func reservedFor(o *operation, header http.Header) string {
	switch {
	case header["Content-Type"] != nil && !o.sendsRaw:
		return "Content-Type is set by the client, unless Do gets a []byte"
	case header["Accept"] != nil && !o.raw:
		return "Accept is set by the client, unless Do returns a []byte"
	}
	return ""
}

// WithHTTPClient makes the Client send through hc's Transport, for which the rules of
// [WithTransport] hold. The Client does not change hc, and never follows redirects. hc.Timeout, if
// set, limits each attempt, not the whole call; the shorter of hc.Timeout and [WithAttemptTimeout]
// applies. A Jar is an error: the service has no cookies.
func WithHTTPClient(hc *http.Client) Option {
	problem := cmp.Or(
		when(hc == nil, "is nil"), when(hc != nil && hc.Jar != nil, "has a Jar, but the service has no cookies"))
	return forAllKeys("WithHTTPClient", problem, func(c *clientConfig) {
		if c.httpClient = hc; hc != nil {
			c.longestAttempt = hc.Timeout
		}
	})
}

// WithTransport wraps the transport that sends the attempts. The function wrap gets the client's
// own transport, which is an *http.Transport, or that of [WithHTTPClient]. It returns the transport
// to use instead, such as a Clone with other settings. NewClient calls it once; the clients of
// [Client.ForKey] share the result, which must be safe for concurrent use. A later WithTransport
// wraps the result of an earlier one. [CallFromContext] returns the call of a request from its
// context.
//
// If the new transport refuses to send a request, as an open circuit breaker does, it should return
// an error that wraps [ErrNotSent]: the call then ends with it. If it sends requests only through
// the wrapped transport, it should have a method Unwrap() http.RoundTripper that returns the
// wrapped one. Then the client knows after other failures, too, whether nothing was sent.
// docs/scaling.md has the rules for a transport that sends further requests, such as one that
// hedges.
func WithTransport(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return forAllKeys("WithTransport", when(wrap == nil, "is nil"), func(c *clientConfig) {
		c.wraps = append(c.wraps, wrap)
	})
}

// WithUserAgent puts product, such as "myapp/1.2", before the SDK's own name in the User-Agent
// header.
func WithUserAgent(product string) Option {
	wrong := strings.TrimSpace(product) == "" || !credential.ValidHeaderValue(product)
	problem := when(wrong, "is empty or not a valid header value")
	return forClient("WithUserAgent", problem, func(c *clientConfig) { c.product = product })
}

// WithInsecureHTTP allows a base URL that is plain http to a host other than loopback. The API key
// is then sent unencrypted.
func WithInsecureHTTP() Option {
	return forAllKeys("WithInsecureHTTP", "", func(c *clientConfig) { c.insecureHTTP = true })
}

// WithMaxResponseBytes limits the body of a response to n bytes, counted after decompression. The
// default is 10 MiB. If the body of a success is longer, the call fails with a [*ResponseError].
func WithMaxResponseBytes(n int64) Option {
	problem := when(n <= 0, "must be positive")
	return forClient("WithMaxResponseBytes", problem, func(c *clientConfig) { c.maxResponseBytes = n })
}

// WithStop lets a program stop without losing anything. When ctx ends, the waits of calls end:
// between attempts, for the rate limit, and for the function of [WithAPIKeyFunc]. A call that waits
// or begins then fails with a [*TransportError] that matches [ErrStopped] and, if you cancelled ctx
// with a cause of your own, that cause. It matches neither [context.Canceled] nor
// [context.DeadlineExceeded]: these are always about the call's own context. Requests on their way
// finish, unless the call's own context ends. So do not also use ctx as the context of calls. See
// examples/bulkimport.
func WithStop(ctx context.Context) Option {
	return forClient("WithStop", when(ctx == nil, "is nil"), func(c *clientConfig) { c.stop = ctx })
}

// WithHeader sets a header of the requests, such as an id by which the service's support finds a
// call: WithHeader("X-Request-ID", id). It is an error to set a header that the Client itself sets
// or relies on: Authorization, Accept-Encoding, Content-Length, Host, User-Agent and those about
// the connection. Idempotency-Key is an error, too, because with it net/http would repeat a create.
// Content-Type and Accept are allowed only where [Client.Do] sends or returns a body as it is. A
// later WithHeader replaces an earlier one with the same key, and no other.
func WithHeader(key, value string) CallOption {
	name := textproto.CanonicalMIMEHeaderKey(key)
	problem := cmp.Or(
		when(!credential.ValidToken(key), "has an invalid key"),
		when(slices.Contains(reservedHeaders, name), name+" is set by the client"),
		when(!credential.ValidHeaderValue(value), "has an invalid value"))
	return forCall("WithHeader", problem, func(c *callConfig) {
		header := http.Header{}
		maps.Copy(header, c.header)
		header.Set(name, value)
		c.header = header
	})
}

// reservedHeaders are those that the client itself sets, or relies on.
var reservedHeaders = []string{
	"Authorization", "Accept-Encoding", "Content-Length", "Host", "User-Agent", "Connection", "Keep-Alive",
	"Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect", "Content-Encoding",
	"Idempotency-Key", "X-Idempotency-Key", // with these, net/http repeats a POST by itself
}

// invalid returns an error about an option or argument of NewClient; nil if reason is empty. For
// another operation, withOperation changes it.
func invalid(argument, reason string) error {
	if reason == "" {
		return nil
	}
	return argumentError("NewClient", argument, reason)
}

// argumentError returns an error about an argument. The reason must not repeat the argument, which
// may contain a secret.
func argumentError(operation, argument, reason string) error {
	return &ArgumentError{operation, argument, reason}
}

// apply applies options in their order, and returns the error of the first one that is nil or
// invalid.
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

// withOperation changes the operation of the ArgumentError in err, if there is one.
func withOperation(err error, operation string) error {
	if e, ok := errors.AsType[*ArgumentError](err); ok {
		e.Operation = operation
	}
	return err
}
