package petstore

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/ratelimit"
)

// WithHTTPClient makes the Client send through hc's Transport, for which the rules of
// [WithTransport] hold, and keep cookies in hc's Jar; each key after the first has a jar of its
// own. The Client does not change hc, and never follows redirects. hc.Timeout, if set, limits each
// attempt, not the whole call; the shorter of hc.Timeout and [WithAttemptTimeout] applies.
func WithHTTPClient(hc *http.Client) Option {
	return forClient("WithHTTPClient", when(hc == nil, "is nil"), func(c *clientConfig) { c.httpClient = hc })
}

// WithLogger makes the Client log to l. The messages, levels and attributes are stable:
//
//	petstore: attempt               Debug  method path attempt duration status rate_limit
//	                                       retry_after error
//	petstore: waiting               Debug  reason until waiting
//	petstore: outcome unknown       Warn   duration error; the pet may have been created
//	petstore: rate limit closed     Warn   scope until key_id; once for each lockout,
//	                                       but for the minute's once in an hour
//	petstore: rate limit open again Info   scope until key_id; once for each lockout
//	petstore: deprecated operation  Warn   removal instead; once for each client
//	petstore: other processes use the key
//	                                Warn   cure; once for each key
//	petstore: key refused           Warn   status; once for each key until it works again
//	petstore: calls fail            Warn   failed duration error; when five calls in a row have
//	                                       failed, then every hour
//	petstore: calls succeed again   Info   failed duration; when none has failed for five minutes
//	petstore: calls wait            Info   reason waiting duration; when calls have waited in each
//	                                       of five minutes, then every hour
//
// Each line also has operation and call_id, which is the same on all lines of a call. reason is a
// [ratelimit.Reason], scope a [LimitScope], key_id a [Call].KeyID, and cure what to do; an attribute
// that is not known is left out. The API key and bodies are never logged. A nil logger, the
// default, logs nothing.
func WithLogger(l *slog.Logger) Option {
	return forClient("", "", func(c *clientConfig) { c.logger = l })
}

// WithUserAgent puts product, such as "myapp/1.2", before the SDK's own name in the User-Agent
// header.
func WithUserAgent(product string) Option {
	wrong := strings.TrimSpace(product) == "" || !credential.ValidHeaderValue(product)
	problem := when(wrong, "is empty or not a valid header value")
	return forClient("WithUserAgent", problem, func(c *clientConfig) { c.product = product })
}

// WithAPIKeyFunc calls f before each attempt, and before its wait for the rate limit, to get the
// API key, for keys that rotate; the apiKey of NewClient must then be "". f gets a context like the
// attempt's, and must be safe for concurrent use. If f fails, or returns a string that cannot be a
// bearer token, the call fails with a [*TransportError] and nothing is sent. That error matches f's
// error but does not repeat its text, which may contain a key.
//
// If the service answers 401, the client calls f once more within the call, with [Call].KeyRefused
// in its context. If f then returns another key, the client sends the request again with that key.
// It repeats a create, too, because the service has not carried it out.
func WithAPIKeyFunc(f func(context.Context) (string, error)) Option {
	return forClient("WithAPIKeyFunc", when(f == nil, "is nil"), func(c *clientConfig) { c.keyFunc = f })
}

// WithInsecureHTTP allows a base URL that is plain http to a host other than loopback. The API key
// is then sent unencrypted.
func WithInsecureHTTP() Option {
	return forClient("", "", func(c *clientConfig) { c.insecureHTTP = true })
}

// WithMaxResponseBytes limits the body of a response to n bytes, counted after decompression. The
// default is 10 MiB. If the body of a success is longer, the call fails with a [*ResponseError].
func WithMaxResponseBytes(n int64) Option {
	problem := when(n <= 0, "must be positive")
	return forClient("WithMaxResponseBytes", problem, func(c *clientConfig) { c.maxResponseBytes = n })
}

// WithLimiter replaces the Client's own limiter, which is a [ratelimit.Limiter]. Give one limiter to all
// clients with the same API key, so that they share its budget. A nil limiter switches limiting
// off: a call then still waits for the Retry-After of its own 429.
func WithLimiter(l Limiter) Option {
	return forClient("", "", func(c *clientConfig) { c.limiter, c.limiterSet = l, true })
}

// WithProcesses says how many processes use the API key, this one included, each with a limiter of
// its own; see [ratelimit.Processes]. PETSTORE_PROCESSES has the same effect. It cannot be combined
// with [WithLimiter]: give the number to that limiter.
func WithProcesses(n int) Option {
	return forClient("WithProcesses", when(n < 1, "must be positive"), func(c *clientConfig) {
		c.processes, c.told = n, true
	})
}

// WithStop lets a program stop without losing anything. When ctx ends, the waits of calls end:
// between attempts, for the rate limit, and for the function of [WithAPIKeyFunc]. A call that waits
// or begins then fails with a [*TransportError] that matches [ErrStopped] and the [context.Cause]
// of ctx. Requests on their way finish, unless the call's own context ends: do not give ctx to
// calls, too. See examples/bulkimport.
func WithStop(ctx context.Context) Option {
	return forClient("WithStop", when(ctx == nil, "is nil"), func(c *clientConfig) { c.stop = ctx })
}

// WithTransport wraps the transport that sends the attempts: wrap gets the client's own transport,
// which is an *http.Transport, or that of [WithHTTPClient], and returns the one to use instead,
// such as a Clone with other settings. It is called once for each client. A later WithTransport
// wraps the result of an earlier one. The result must be safe for concurrent use. [CallFromContext]
// returns the call of a request from its context.
//
// If the result sends requests through the wrapped transport only, it should have a method Unwrap()
// http.RoundTripper that returns that one. The client then sees the connections as it does without
// a wrapper, and can report after a failure that nothing was sent.
//
// The result may send further requests with the context of a write, but only one after another: two
// at the same time look like a repetition by net/http, which the client prevents. A transport that
// hedges must give its requests contexts that do not derive from that one.
//
// As soon as the body of a write is read, the client assumes that the write was sent. The same
// holds for a write without a body, unless the result is an *http.Transport. The request has no
// GetBody, so that net/http does not repeat it. A transport that keeps the body, as the
// RoundTripper of go-retryablehttp does, must not retry a POST.
func WithTransport(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return forClient("WithTransport", when(wrap == nil, "is nil"), func(c *clientConfig) {
		c.wraps = append(c.wraps, wrap)
	})
}

// WithTrace makes the Client call the functions of a copy of t during each call. With several
// WithTrace options, the functions are called in the order of the options.
func WithTrace(t *ClientTrace) Option {
	var trace ClientTrace
	if t != nil {
		trace = *t
	}
	return forClient("WithTrace", when(t == nil, "is nil"), func(c *clientConfig) {
		c.traces = append(c.traces, &trace)
	})
}

// newClientConfig returns the defaults with opts applied.
func newClientConfig(opts []Option) (*clientConfig, error) {
	c := &clientConfig{
		maxResponseBytes: 10 << 20,             // about 100,000 pets of 100 bytes, where the document allows 100
		stop:             context.Background(), // never ends
		call: callConfig{
			retry: retry.Policy{}.WithDefaults(),
			// A window of the plans lasts one minute, and its Reset has a grain of a second: this
			// lets a call wait for the next window, and for one more if others use up that one.
			maxWait:        2 * (time.Minute + time.Second),
			attemptTimeout: 30 * time.Second, // a response that takes longer is taken for lost
		},
	}
	if err := apply(c, opts); err != nil {
		return nil, err
	}
	if !c.limiterSet {
		c.limiter = ratelimit.New(ratelimit.Processes(c.processes))
	} else if c.told {
		return nil, invalid("WithProcesses", "cannot be combined with WithLimiter; give the number to the limiter")
	}
	return c, nil
}
