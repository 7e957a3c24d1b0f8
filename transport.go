package petstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// drainBytes is how much of a body beyond its bound is read in the hope of saving the connection.
const drainBytes = 64 << 10

// exchange is what one attempt brought.
type exchange struct {
	authorization authorization
	sent          bool // the request may have been written
	received      time.Time
	statusCode    int // 0: no answer
	header        http.Header
	rateLimit     RateLimit
	retryAfter    time.Duration
	date          time.Time
	body          []byte
	tooLarge      bool // body is cut at the bound
	err           error
	failure       failure
}

// failure is the kind of an exchange's err, as far as retrying depends on it.
type failure int

const (
	failureNone       failure = iota
	failureConnection         // reset, refused, cut off, timed out: may pass
	failurePermanent          // will be the same the next time
	failureProtocol           // an answer that is no HTTP
)

// roundTripper is a function, not a struct: what it closes over no dump can reach, the connections
// with the key in their buffers among it.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// newAttempts returns the transport that makes one attempt of the call in the request's context. It has no
// CloseIdleConnections, because go-retryablehttp calls that after every failure and would drop the pool of
// everybody on base.
func newAttempts(base http.RoundTripper, bearer bearer, maxBody int64) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		k := callFrom(req.Context())
		k.begin()
		resp := k.attempt(req, base, bearer, maxBody)
		k.logAttempt()
		if resp == nil {
			return nil, k.last.err
		}
		return resp, nil
	})
}

// attempt sends req once, with the key, and keeps what came in k.last. The response it returns has
// no body left; nil if there was none.
func (k *call) attempt(req *http.Request, base http.RoundTripper, bearer bearer, maxBody int64) *http.Response {
	x := &k.last
	ctx := k.current
	ctx.begin()
	defer ctx.end()
	authorization, err := bearer(ctx)
	if err != nil {
		x.failed(k.attribute(ctx, err), failurePermanent)
		return nil
	}
	x.authorization = authorization
	resp, err := k.send(req, base)
	if err == nil {
		err = k.readBody(resp, maxBody)
	}
	if err != nil {
		x.failed(k.attribute(ctx, err), kindOf(err))
	}
	x.redact()
	return bodyless(resp)
}

// send hands the request to base and, as soon as the answer's header is here, its permit back: the next in
// line need not wait for the body.
func (k *call) send(req *http.Request, base http.RoundTripper) (*http.Response, error) {
	observation := Observation{Sent: k.turn.ready}
	defer func() { k.release(observation) }() // also if base panics
	k.trace.begin(base)
	req.Header = k.header(req.Header, req.Body != nil) // it is our own request
	req.Host = k.url.Host                              // before, http.Client would copy the URL for it
	resp, err := final(base.RoundTrip(req))
	x := &k.last
	x.sent = k.trace.mayHaveSent(err)
	if err != nil {
		if !x.sent {
			observation = Observation{}
		}
		return nil, err
	}
	x.observe(resp, &k.client.dates)
	k.client.sawRateLimit(x.rateLimit)
	observation = x.observation(observation.Sent)
	return resp, nil
}

var errNothing = errors.New("the transport returned neither an answer nor an error")

// final refuses what cannot be the answer to a request: nothing, which http.Client refuses as well, but later, and a
// status from 000 to 199, which net/http lets pass.
func final(resp *http.Response, err error) (*http.Response, error) {
	switch {
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, errNothing
	case resp.Body == nil:
		resp.Body = http.NoBody
	}
	if resp.StatusCode >= http.StatusOK {
		return resp, nil
	}
	_ = resp.Body.Close() // nothing in it is wanted
	return nil, fmt.Errorf("malformed HTTP response: status %03d", resp.StatusCode)
}

// observe keeps what the header of the answer says.
func (x *exchange) observe(resp *http.Response, dates *dateParser) {
	x.received = time.Now()
	x.statusCode = resp.StatusCode
	x.header = resp.Header
	x.rateLimit = parseRateLimit(resp.Header)
	x.date = dates.parse(resp.Header)
	x.retryAfter = parseRetryAfter(resp.Header, x.date, x.received)
}

func (x *exchange) observation(sent time.Time) Observation {
	return Observation{
		Sent:       sent,
		Received:   x.received,
		StatusCode: x.statusCode,
		RateLimit:  x.rateLimit,
		RetryAfter: x.retryAfter,
		Date:       x.date,
	}
}

// readBody reads at most maxBody bytes and closes the body.
func (k *call) readBody(resp *http.Response, maxBody int64) (err error) {
	defer func() { _ = resp.Body.Close() }() // what was to be read has been
	x := &k.last
	if k.buffer == nil { // not before: calls are many, and most of them wait for their answer
		k.buffer = k.client.buffers.get()
	}
	x.tooLarge, err = k.buffer.fill(resp.Body, resp.ContentLength, maxBody)
	x.body = k.buffer.bytes
	if x.tooLarge {
		_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
	}
	return err
}

func (x *exchange) failed(err error, kind failure) { x.err, x.failure = err, kind }

// bodyless is resp for http.Client, which is not to see what it would act upon: the body has been read, and
// of a redirect, which is not followed, it parses the Location all the same and drops the answer if
// that is malformed.
func bodyless(resp *http.Response) *http.Response {
	if resp == nil {
		return nil
	}
	resp.Body = http.NoBody
	if resp.StatusCode/100 == 3 {
		resp.Header = maps.Clone(resp.Header)
		resp.Header.Del("Location")
	}
	return resp
}

// attribute is err, told apart by whose end it was: the caller's context, the attempt's timeout, or
// something else, which then must not look like either.
func (k *call) attribute(ctx context.Context, err error) error {
	if ended := endOf(k.Context); ended != nil {
		return ended
	}
	if contextErr(ctx) != nil {
		return &attemptTimeoutError{k.config.attemptTimeout}
	}
	_, ofKey := errors.AsType[*keyError](err)
	if urlErr, ok := errors.AsType[*url.Error](err); ok && !ofKey {
		err = urlErr.Err // no URL in an error
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &foreignContextError{err}
	}
	return err
}

// attemptTimeoutError is the end of WithAttemptTimeout. It is not context.DeadlineExceeded: that speaks
// of the caller's context.
type attemptTimeoutError struct{ after time.Duration }

func (e *attemptTimeoutError) Error() string { return "attempt timed out after " + e.after.String() }
func (e *attemptTimeoutError) Timeout() bool { return true }

// foreignContextError hides from errors.Is that err matches an error of package context, as the timeout of
// a dialer does.
type foreignContextError struct{ err error }

func (e *foreignContextError) Error() string { return e.err.Error() }

func (e *foreignContextError) Timeout() bool {
	err, ok := errors.AsType[net.Error](e.err)
	return ok && err.Timeout()
}

// kindOf tells failures that pass from those that stay. What is not known may pass.
func kindOf(err error) failure {
	if notHTTP(err) {
		return failureProtocol
	}
	dns, ok := errors.AsType[*net.DNSError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	if ok && dns.IsNotFound || alert || noTLS(err) || errors.Is(err, errNothing) || containsAny(err.Error(),
		"unsupported protocol scheme", "server gave HTTP response to HTTPS client") {
		return failurePermanent
	}
	return failureConnection
}

// noTLS reports whether the handshake failed for what the other side is.
func noTLS(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	return certificate || record
}

// notHTTP goes by text where net/http has no exported type.
func notHTTP(err error) bool {
	if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
		return true
	}
	return containsAny(err.Error(), "malformed HTTP", "malformed MIME header", "bad Content-Length",
		"multiple Content-Length", "transfer encoding", "response headers exceeded",
		"connection error: PROTOCOL_ERROR")
}

func containsAny(s string, substrings ...string) bool {
	for _, sub := range substrings {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

// connectionTrace watches whether a request got a connection to be written to.
type connectionTrace struct {
	hooks     httptrace.ClientTrace
	told      atomic.Bool // the transport tells of its connections
	connected atomic.Bool
}

func newConnectionTrace() *connectionTrace {
	t := new(connectionTrace)
	t.hooks.GetConn = func(string) { t.told.Store(true) }
	t.hooks.GotConn = func(httptrace.GotConnInfo) { t.connected.Store(true) }
	return t
}

func (t *connectionTrace) begin(base http.RoundTripper) {
	if t == nil {
		return
	}
	t.told.Store(tells(base))
	t.connected.Store(false)
}

// tells reports whether base is an http.Transport, or one in wrappers that say what they wrap: it looks for a
// connection before it writes, and tells of that.
func tells(base http.RoundTripper) bool {
	for {
		wrapper, ok := base.(interface{ Unwrap() http.RoundTripper })
		if !ok {
			_, ok = base.(*http.Transport)
			return ok
		}
		base = wrapper.Unwrap()
	}
}

// mayHaveSent reports whether the request may have been written, err being what the transport returned.
// Without a trace, or of a transport that tells nothing, only a failed dial or handshake is certain.
func (t *connectionTrace) mayHaveSent(err error) bool {
	if err == nil {
		return true
	}
	if t != nil && t.told.Load() {
		return t.connected.Load()
	}
	op, ok := errors.AsType[*net.OpError](err)
	return !(ok && op.Op == "dial") && !noTLS(err)
}

// contextErr is ctx.Err(), or what it is about to be: a deadline that has passed may be seen by the network
// before the context's own timer has fired.
func contextErr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// endOf is the end of a caller's context as an error, nil if it has not ended.
func endOf(ctx context.Context) error {
	err := contextErr(ctx)
	if err == nil {
		return nil
	}
	ended := &endedError{ended: err}
	ended.learnCause(ctx)
	return ended
}

func (e *endedError) learnCause(ctx context.Context) {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(e.ended, cause) {
		e.cause = cause
	}
}

// awaitEnd lets a context end that the clock has overtaken: only then it has its error and a cause. That takes
// its timer no time to speak of; a context that never ends after its deadline is not waited for.
func (k *call) awaitEnd(err error) {
	ended, ok := errors.AsType[*endedError](err)
	if !ok || ended.cause != nil || contextErr(k.Context) == nil {
		return
	}
	timer := time.NewTimer(endGrace)
	defer timer.Stop()
	select {
	case <-k.Done():
	case <-timer.C:
	}
	ended.learnCause(k)
}

const endGrace = 100 * time.Millisecond
