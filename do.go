package petstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/ratelimit"
)

// Do sends a request that the SDK has no method for, below the base URL, with the client's key,
// limiter and rules: a GET is repeated, everything else is sent once and may match
// [ErrOutcomeUnknown]; after any other error the service did not carry out the request. method is
// GET, POST, PUT, PATCH or DELETE. path must be escaped, as by [net/url.PathEscape], and may have a
// query: "pets/7?full=true".
//
// in is sent as JSON, unless nil. The body of a 2xx must be JSON and is decoded into out, unless
// nil. A [encoding/json.RawMessage] is JSON as it is; a []byte is refused, since it does not say
// whether it is JSON. A 204 leaves out unchanged.
//
// The Operation of its errors is "do " and the method, and [Call].Template ends in /{path}, so that
// logs and metrics have few different values.
func (c *Client) Do(
	ctx context.Context, method, path string, in, out any, opts ...CallOption,
) (*Response, error) {
	op := &operation{name: "do " + method, method: method, template: "/{path}"}
	path, query, _ := strings.Cut(strings.TrimPrefix(path, "/"), "?")
	r := request{operation: op, path: "/" + path, query: query}
	if argument, problem := r.problem(in, out); problem != "" {
		return nil, &ArgumentError{op.name, argument, problem}
	}
	var decode func([]byte) error
	if out != nil {
		decode = func(body []byte) error {
			if !jsontext.Value(body).IsValid() { // json takes duplicate names and invalid UTF-8
				return errNotJSON
			}
			return json.Unmarshal(body, out)
		}
	}
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil { // its text may contain a part of in
			return nil, &ArgumentError{op.name, "in", "cannot be encoded as JSON"}
		}
		r.body = body
	}
	response := &Response{}
	if err := c.do(ctx, r, opts, response, decode); err != nil {
		return nil, err
	}
	return response, nil
}

var errNotJSON = errors.New("is not JSON")

// problem returns which of the arguments of Do is wrong, and why.
func (r *request) problem(in, out any) (argument, problem string) {
	const noBytes = "is a []byte; use json.RawMessage for JSON as it is"
	_, path := credential.PathBelow(r.path, r.query)
	_, fromBytes := in.([]byte)
	_, toBytes := out.(*[]byte)
	target := reflect.ValueOf(out)
	switch {
	case !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, r.method):
		return "method", "is not GET, POST, PUT, PATCH or DELETE"
	case path != "":
		return "path", path
	case in != nil && r.method == http.MethodGet:
		return "in", "is set, but a GET has no body"
	case fromBytes:
		return "in", noBytes
	case toBytes:
		return "out", noBytes
	case out != nil && (target.Kind() != reflect.Pointer || target.IsNil()):
		return "out", "is not a pointer"
	}
	return "", ""
}

// do makes a call. After a success, it sets response, and decodes the body unless decode is nil.
// Any other end of the call is an error.
func (c *Client) do(
	ctx context.Context, r request, opts []CallOption, response *Response, decode func([]byte) error,
) error {
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
	waits, end := k.begin()
	defer end()
	err := k.run(waits)
	if err == nil {
		err = k.decode(decode)
		*response = k.response(k.last)
	}
	done := CallDoneInfo{Call: k.info, Duration: time.Since(k.started), Err: err}
	k.each(func(ctx context.Context, trace *ClientTrace) { trace.CallDone(ctx, done) })
	return err
}

// run makes attempts while there is to be another one, and returns the error of the call. waits is
// the context of the waits and the reads.
func (k *call) run(waits context.Context) error {
	loop := retryablehttp.Client{HTTPClient: &http.Client{Transport: k}, CheckRetry: k.checkRetry, RetryMax: math.MaxInt}
	loop.Backoff = func(time.Duration, time.Duration, int, *http.Response) time.Duration { return k.pause.Duration }
	address := k.client.base + k.path + safetext.If(k.query != "", "?"+k.query)
	r, err := http.NewRequestWithContext(waits, k.method, address, nil)
	if err != nil {
		return &ArgumentError{k.name, "path", "is not valid"}
	}
	_, _ = loop.Do(&retryablehttp.Request{Request: r}) // what came of the attempts is in k.last
	if k.pause.Reason != "" {                          // the context ended before the attempt that was planned
		k.endPause()
		k.previous, k.last = k.last, &attempt{failure: notAdmitted, err: k.endReason(waits)}
	}
	if !k.last.succeeded() {
		return k.errorOf(k.last)
	}
	k.client.tokens.earn()
	return nil
}

// decode decodes the body of a success. A body that is empty, that is no JSON or that does not
// follow the document gives a *ResponseError. A 204 has no body.
func (k *call) decode(decode func([]byte) error) error {
	a := k.last
	mediaType, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	mediaType = strings.TrimSpace(mediaType)
	var err error
	switch {
	case a.was(http.StatusNoContent), decode == nil && len(a.body) == 0:
		return nil
	case len(a.body) == 0: // the decoder would report no more than EOF
		return k.responseError(a, "body is empty", nil)
	case !strings.EqualFold(mediaType, "application/json"):
		return k.responseError(a, "Content-Type is "+safetext.Quote(mediaType)+", not application/json", nil)
	case decode != nil:
		err = decode(a.body)
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

// errorOf returns the error of a call that ends with a; doc.go lists the types. Only decode chooses
// an error, too.
func (k *call) errorOf(a *attempt) error {
	code := a.outcome.StatusCode
	switch {
	case a.failure == notAdmitted:
		return k.refusal(a)
	case a.failure == contextEnded && code >= http.StatusMultipleChoices:
		return k.transportError(a, after(a.err, k.apiError(a)))
	case a.failure == notHTTP:
		return k.responseError(a, "not HTTP", a.err)
	case a.failure == contextEnded, code == 0:
		return k.transportError(a, a.err)
	case a.expectedStatus && a.failure == bodyTooLarge:
		return k.responseError(a, "body is larger than 10 MiB", nil)
	case a.expectedStatus:
		return k.responseError(a, "body is cut off", a.err)
	case code/100 == 2:
		return k.responseError(a, "status is not the documented one", nil)
	case code == http.StatusTooManyRequests:
		limited := ratelimit.Error{RetryAt: a.retryAt, Window: a.outcome.Window, Reason: a.reason}
		return k.rateLimitError(&limited, k.apiError(a))
	}
	return k.apiError(a)
}

// refusal returns the error of a call whose last attempt sent nothing. It wraps the error of the
// attempt before, if there was one.
func (k *call) refusal(a *attempt) error {
	var last error
	if k.previous != nil {
		last = k.errorOf(k.previous)
	}
	limited, ok := a.err.(*ratelimit.Error)
	switch {
	case a.err == errSameKey:
		return last
	case !ok:
		return k.transportError(a, after(a.err, last))
	}
	if got429, ok := last.(*RateLimitError); ok {
		last = got429.Err
	}
	return k.rateLimitError(limited, after(limited.Err, last))
}

// after returns err together with the error of the attempt before; either may be nil.
func after(err, last error) error {
	if err == nil || last == nil {
		return cmp.Or(err, last)
	}
	return fmt.Errorf("%w; last attempt: %w", err, last)
}

// apiError returns the error for a response that is not the success of the operation. The key is
// taken out of all that it has from the response.
func (k *call) apiError(a *attempt) *APIError {
	code, message := decodeError(a.body)
	key := a.key.Secret()
	return &APIError{
		Operation: k.name, CallID: k.info.ID, Code: safetext.Redact(code, key), Message: safetext.Redact(message, key),
		RetryAfter: a.outcome.RetryAfter, Body: a.bodyStart(), Response: k.response(a),
		OutcomeUnknown: k.outcomeUnknown(a), received: a.outcome.Received,
	}
}

func (k *call) responseError(a *attempt, reason string, err error) *ResponseError {
	return &ResponseError{
		Operation: k.name, CallID: k.info.ID, Reason: reason, Body: a.bodyStart(), Response: k.response(a),
		OutcomeUnknown: k.outcomeUnknown(a), Err: err,
	}
}

func (k *call) transportError(a *attempt, err error) *TransportError {
	return &TransportError{
		Operation: k.name, CallID: k.info.ID, Attempts: k.requestsSent, OutcomeUnknown: k.outcomeUnknown(a), Err: err,
	}
}

func (k *call) rateLimitError(e *ratelimit.Error, err error) *RateLimitError {
	return &RateLimitError{
		Operation: k.name, CallID: k.info.ID, RetryAt: e.RetryAt, RateLimit: e.Window, Reason: e.Reason,
		Attempts: k.requestsSent, Err: err,
	}
}

// bodyStart returns the part of the body that an error keeps: enough for an Error object.
func (a *attempt) bodyStart() []byte {
	return safetext.Head(a.body, a.key.Secret(), 4<<10, a.failure != noFailure)
}
