package petstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/ratelimit"
)

// operation is an operation of the service (section 4), or a request of Do. Operations differ only
// in the values of these fields: no other code asks which operation it has.
type operation struct {
	// name is the operationId of the document or, for Do, "do " and the method.
	name     string
	method   string
	template string // path template below the base URL
	// success is the documented status of a success; 0 for any 2xx.
	success int
	// doubt is the note in an error if the outcome is unknown: "the pet may have been created".
	doubt string
	// removal is the date from which the service no longer has the operation; empty if it stays.
	// instead is the operation to use in its place.
	removal, instead string
}

// isWrite reports whether the request may change something, and so must not be carried out twice.
func (o *operation) isWrite() bool { return o.method != http.MethodGet }

// expects reports whether code is the documented status of a success.
func (o *operation) expects(code int) bool {
	if o.success == 0 {
		return code/100 == 2
	}
	return code == o.success
}

// request is the request that a method makes, without the key.
type request struct {
	*operation
	path, query string // of the URL, below the base URL, escaped
	body        []byte // nil for none
	// decode decodes the body of a success, and keeps the result; nil if nobody wants the result.
	decode func(body []byte) error
}

// call is one use of a method of Client, on one goroutine. It is the http.RoundTripper of its own
// retry loop: each RoundTrip makes one attempt (send.go). After each attempt, checkRetry decides
// whether another one follows (retry.go). It is also the [ratelimit.Observer] of its requests
// (trace.go).
type call struct {
	request
	client         *Client
	config         *config         // of the client, with the options of the call; only read
	ctx, stoppable context.Context // see begin
	info           Call            // each attempt has a copy in its context
	started        time.Time
	maxWait        time.Duration // what is left of WithMaxWait

	requestsSent int             // requests that may have been written
	last         *attempt        // nil before the first
	previous     *attempt        // the one before `last`; nil before the second
	pause        *ratelimit.Wait // before the next attempt; nil if none is planned
	pauseBegun   time.Time
}

// do makes a call. If the call succeeds, it decodes the body and sets response. Otherwise it
// returns an error.
func (c *Client) do(ctx context.Context, r request, opts []CallOption, response *Response) error {
	if ctx == nil {
		return &ArgumentError{r.name, "ctx", "is nil"}
	}
	config := c.config
	if len(opts) > 0 {
		own := *config
		config = &own
		if err := apply(r.name, config, opts); err != nil {
			return err
		}
	}
	k := &call{request: r, client: c, config: config, ctx: ctx, started: time.Now(), maxWait: config.maxWait}
	k.info = Call{
		ID:      strconv.FormatUint(1<<63|rand.Uint64(), 16), // the highest bit is 1, so that there are sixteen digits
		BaseURL: c.base, Operation: r.name, Method: r.method,
		Template: c.basePath + r.template, KeyID: c.key.ID, Background: config.background,
	}
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

// begin calls the CallStart functions and makes the contexts of the call, which end releases.
//
//	k.ctx         ends with the caller's context, or after WithCallTimeout; for writes and traces
//	k.stoppable   ends with k.ctx, or at WithStop; for waits and reads
//
// The contexts of requests, and of the function of WithAPIKeyFunc, are derived from one of these
// two. They also end after the timeout of an attempt.
func (k *call) begin() (end func()) {
	for _, trace := range k.client.traces { // each gets the context of the one before it
		k.ctx = cmp.Or(trace.CallStart(k.withCall(k.ctx), k.info), k.ctx)
	}
	endTimeout := func() {}
	if limit := k.config.callTimeout; limit > 0 {
		k.ctx, endTimeout = context.WithTimeoutCause(k.ctx, limit, &endError{timedOut("call", limit), k})
	}
	k.stoppable = k.ctx
	stop := k.config.stop
	if stop == nil {
		return endTimeout
	}
	var cancel context.CancelCauseFunc
	k.stoppable, cancel = context.WithCancelCause(k.ctx)
	stopped := func() { cancel(&endError{fmt.Errorf("%w: %w", ErrStopped, wrappable(context.Cause(stop))), k}) }
	if stop.Err() != nil {
		stopped() // at once: AfterFunc calls it a moment later
	}
	forget := context.AfterFunc(stop, stopped)
	return func() { forget(); cancel(nil); endTimeout() }
}

// decodeBody decodes the body of a success. It returns a *ResponseError if the body is empty, is
// not JSON or does not follow the document. A 204 needs no body.
func (k *call) decodeBody(a *attempt) error {
	mediaType, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	mediaType = strings.TrimSpace(mediaType)
	var err error
	switch {
	case a.was(http.StatusNoContent), k.decode == nil && len(a.body) == 0:
		return nil
	case len(a.body) == 0: // the decoder would only report EOF
		return k.responseError(a, "body is empty", nil)
	case !strings.EqualFold(mediaType, "application/json"):
		return k.responseError(a, "Content-Type is "+safetext.Quote(mediaType)+", not application/json", nil)
	case k.decode != nil:
		err = k.decode(a.body)
	case !json.Valid(a.body):
		err = errors.New("is not JSON")
	}
	if err == nil {
		return nil
	}
	// The decoder's error is not wrapped: it quotes names from the body, which may contain
	// anything.
	return k.responseError(a, "body", errors.New(safetext.Line(safetext.Redact(err.Error(), a.key.Secret()))))
}

// response returns what results and errors say about the last response of the call.
func (k *call) response(a *attempt) Response {
	return Response{
		StatusCode: a.outcome.StatusCode, Header: a.header, RateLimit: a.outcome.Window, Attempts: k.requestsSent,
	}
}
