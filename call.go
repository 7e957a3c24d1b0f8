package petstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/ratelimit"
)

// operation is an operation of the service (section 4), or a request of Do. All that differs
// between operations is in its values, so that no other code asks which operation it has.
type operation struct {
	// name is the operationId of the document or, for Do, "do " and the method.
	name     string
	method   string
	template string // path template below the base URL
	// success is the documented status of a success; 0 for any 2xx.
	success int
	// doubt is what an error says may have happened if the outcome of a write is unknown.
	doubt string
	// removal is the date from which the service no longer has the operation; empty if it stays.
	// instead is the operation to use in its place.
	removal, instead string
}

// isWrite reports whether a request may change something, so that it must not be repeated.
func (o *operation) isWrite() bool { return o.method != http.MethodGet }

// succeeds reports whether code is the documented status of a success.
func (o *operation) succeeds(code int) bool {
	return code == o.success || o.success == 0 && code/100 == 2
}

// request is what a method asks for.
type request struct {
	*operation
	path, query string // of the URL, below the base URL, escaped
	body        []byte // nil for none
	// into decodes the body of a success, and keeps the result; nil if that is not wanted.
	into interface{ decode(body []byte) error }
}

// call is one call of a method, on one goroutine. It is the transport of its own retry loop: each
// RoundTrip, the first one too, is one attempt (send.go), after which checkRetry decides whether
// there is another one (retry.go).
type call struct {
	request
	tracer
	client    *Client
	config    *config // of the client, with the options of the call; only read
	stoppable context.Context
	started   time.Time
	maxWait   time.Duration // the rest of WithMaxWait

	requestsSent int             // requests that may have been written
	last         *attempt        // nil before the first
	previous     *attempt        // the one before last
	pause        *ratelimit.Wait // before the next attempt; nil if none is planned
}

// attempt is what came of one attempt. RoundTrip fills it; nothing changes it afterwards. The
// decision about the next attempt, and the result or the error of the call, need nothing else.
type attempt struct {
	key        credential.Key
	permit     ratelimit.Permit // until it is released; nil without a limiter
	connection connectionState
	outcome    ratelimit.Outcome // of the request, for the limiter: the status and the times, for example
	lockout    ratelimit.Lockout // of the key, as the limiter reported it after the request
	header     http.Header       // of the response, without the key
	body       []byte            // of the response, or its start
	failure    failure
	err        error // why there is no whole response; nil if there is one

	mayBeWritten   bool // the request may have been written
	expectedStatus bool // the status is the documented one
}

// succeeded reports whether there is a whole response with the documented status.
func (a *attempt) succeeded() bool { return a.expectedStatus && a.failure == noFailure }

// was reports whether there is a response with that status; a may be nil.
func (a *attempt) was(status int) bool { return a != nil && a.outcome.StatusCode == status }

// limiterWaits reports whether the limiter delays the attempt after a 429. Otherwise the loop must.
func (a *attempt) limiterWaits() bool { return a.lockout.Until.After(a.outcome.Received) }

// retryAt returns when the limiter or a 429 allows the next request; zero if that is not known.
func (a *attempt) retryAt() time.Time {
	switch {
	case !a.was(http.StatusTooManyRequests), a.limiterWaits():
		return a.lockout.Until
	case a.outcome.RetryAfter > 0:
		return a.outcome.Received.Add(a.outcome.RetryAfter)
	}
	return time.Time{}
}

// Response describes the last HTTP response of the call that returned a result, an [APIError] or a
// [ResponseError].
type Response struct {
	// StatusCode is the HTTP status code.
	StatusCode int
	// Header is the response's header.
	Header http.Header
	// RateLimit is the rate limit from the X-RateLimit headers (section 8.2).
	RateLimit RateLimit
	// Attempts is the number of requests that the call sent, in part or completely.
	Attempts int
}

// do makes a call. After a success, it sets response, and decodes the body. Any other end of the
// call is an error.
func (c *Client) do(ctx context.Context, r request, opts []CallOption, response *Response) error {
	switch {
	case ctx == nil:
		return &ArgumentError{r.name, "ctx", "is nil"}
	case c.transport == nil:
		return &ArgumentError{r.name, "Client", "was not made by NewClient"}
	}
	config := c.config
	if len(opts) > 0 {
		own := *config
		config = &own
		if err := apply(r.name, config, opts); err != nil {
			return err
		}
	}
	k := &call{request: r, client: c, config: config, started: time.Now(), maxWait: config.maxWait}
	k.tracer = tracer{traces: c.traces, ctx: ctx, info: Call{
		ID:      strconv.FormatUint(1<<63|rand.Uint64(), 16), // the first bit makes it sixteen digits
		BaseURL: c.base, Operation: r.name, Method: r.method,
		Template: c.basePath + r.template, KeyID: c.key.ID, Background: config.background,
	}}
	end := k.begin()
	defer end()
	err := k.run()
	if err == nil {
		err = k.decodeBody(k.last)
		*response = k.response(k.last)
	}
	done := CallDoneInfo{Call: k.info, Duration: time.Since(k.started), Err: err}
	k.each(func(ctx context.Context, trace *ClientTrace) { trace.CallDone(ctx, done) })
	return err
}

// begin calls the CallStart functions and makes the contexts of the call, which end frees:
//
//	k.ctx         ends with that of the caller, or after WithCallTimeout; for writes and traces
//	k.stoppable   ends with k.ctx, or at WithStop; for waits and reads
//
// The context of a request or of a function for the key is made from one of them. It ends after the
// timeout of an attempt, too.
func (k *call) begin() (end func()) {
	k.callStart()
	endTimeout := func() {}
	if limit := k.config.callTimeout; limit > 0 {
		k.ctx, endTimeout = context.WithTimeoutCause(k.ctx, limit, &endError{&timeoutError{"call", limit}, k.info.ID})
	}
	k.stoppable = k.ctx
	stop := k.config.stop
	if stop == nil {
		return endTimeout
	}
	var cancel context.CancelCauseFunc
	k.stoppable, cancel = context.WithCancelCause(k.ctx)
	stopped := func() { cancel(&endError{fmt.Errorf("%w: %w", ErrStopped, foreign(context.Cause(stop))), k.info.ID}) }
	if stop.Err() != nil {
		stopped() // AfterFunc would take a moment
	}
	forget := context.AfterFunc(stop, stopped)
	return func() { forget(); cancel(nil); endTimeout() }
}

// endReason returns why a context of the call has ended; nil if it has not. A timeout of another
// call around this one is a cause like others.
func (k *call) endReason(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	own, ok := cause.(*endError)
	switch {
	case ok && own.callID == k.info.ID:
		return own.error
	case err == nil || errors.Is(err, cause):
		return err
	case isOfCall(cause):
		return fmt.Errorf("%w: %v", err, cause)
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// endError is the cause of a context of a call that a timeout or WithStop has ended. endReason
// takes the error out of it for the call itself. It has no Unwrap, so that it matches nothing in
// the error of another call.
type endError struct {
	error
	callID string
}

// run makes attempts while there is to be another one, and returns the error of the call.
func (k *call) run() error {
	loop := retryablehttp.Client{HTTPClient: &http.Client{Transport: k}, CheckRetry: k.checkRetry, RetryMax: math.MaxInt}
	loop.Backoff = func(time.Duration, time.Duration, int, *http.Response) time.Duration { return k.pause.Duration }
	address := k.client.base + k.path + safetext.If(k.query != "", "?"+k.query)
	bare, err := http.NewRequestWithContext(k.stoppable, k.method, address, nil)
	if err != nil {
		return &ArgumentError{k.name, "path", "is not valid"}
	}
	_, _ = loop.Do(&retryablehttp.Request{Request: bare}) // what came of the attempts is in k.last
	if k.pause != nil {                                   // the context ended during the pause
		k.endPause()
		k.previous, k.last = k.last, &attempt{failure: notAdmitted, err: k.endReason(k.stoppable)}
	}
	if !k.last.succeeded() {
		return k.errorOf(k.last)
	}
	k.client.tokens.earn()
	return nil
}

// decodeBody decodes the body of a success. A body that is empty, that is no JSON or that does not
// follow the document gives a *ResponseError. A 204 has no body.
func (k *call) decodeBody(a *attempt) error {
	mediaType, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	mediaType = strings.TrimSpace(mediaType)
	var err error
	switch {
	case a.was(http.StatusNoContent), k.into == nil && len(a.body) == 0:
		return nil
	case len(a.body) == 0: // the decoder would report no more than EOF
		return k.responseError(a, "body is empty", nil)
	case !strings.EqualFold(mediaType, "application/json"):
		return k.responseError(a, "Content-Type is "+safetext.Quote(mediaType)+", not application/json", nil)
	case k.into != nil:
		err = k.into.decode(a.body)
	case !jsontext.Value(a.body).IsValid():
		err = errNotJSON
	}
	if err == nil {
		return nil
	}
	// The decoder's error is not wrapped: it quotes names from the body, which may contain anything.
	return k.responseError(a, "body", errors.New(safetext.Line(safetext.Redact(err.Error(), a.key.Secret()))))
}

// response returns what results and errors say about the last response of the call.
func (k *call) response(a *attempt) Response {
	return Response{
		StatusCode: a.outcome.StatusCode, Header: a.header, RateLimit: a.outcome.Window, Attempts: k.requestsSent,
	}
}
