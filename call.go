package petstore

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/hashicorp/go-retryablehttp"

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
