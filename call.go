package petstore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// operation is one of the three operations of the service (section 4).
type operation struct {
	name       string
	method     string
	template   string // of path
	success    int    // the documented status
	repeatable bool   // doing it twice does no more than doing it once
}

const (
	opListPets  = "listPets"
	opCreatePet = "createPet"
	opGetPet    = "getPet"
)

var (
	listPets  = &operation{opListPets, http.MethodGet, "", http.StatusOK, true}
	createPet = &operation{opCreatePet, http.MethodPost, "", http.StatusCreated, false}
	getPet    = &operation{opGetPet, http.MethodGet, "/{petId}", http.StatusOK, true}
)

// request is what an operation asks for.
type request struct {
	operation *operation
	id        int64 // of getPet
	query     string
	body      []byte // nil: none
}

// call is one call of an operation, over all its attempts. It is the context of its requests: the caller's,
// in which the attempt and the limiter find the call.
type call struct {
	context.Context
	client    *Client
	operation *operation
	config    *callConfig
	turn      turn // the place in the limiter's line
	url       url.URL
	http      http.Request // of the first attempt
	request   retryablehttp.Request
	first     attemptContext
	current   *attemptContext
	trace     *connectionTrace // nil: none
	buffer    *buffer          // for the body of the answer

	attempts  int
	permit    Permit
	last      exchange      // the last attempt
	due       bool          // another attempt was to follow the last
	pause     time.Duration // before the next attempt, for the service's sake
	notBefore time.Time     // the next attempt, for the rate limit's sake
	waited    time.Duration // for the rate limit so far
}

// perform makes a call and decodes the body of its documented success; anything else is an error.
func perform[T any](
	ctx context.Context, c *Client, r request, opts []CallOption, decode func(*buffer) (T, error),
) (value T, response Response, err error) {
	k, err := c.newCall(ctx, r, opts)
	if err != nil {
		return value, response, err
	}
	done := k.observe()
	defer func() { done(err) }()
	if timeout := k.config.callTimeout; timeout > 0 {
		bounded, cancel := context.WithTimeout(k.Context, timeout)
		defer cancel()
		k.Context = bounded
	}
	defer func() { c.buffers.put(k.buffer) }()
	if err := k.do(r); err != nil {
		k.awaitEnd(err)
		return value, response, err
	}
	if reason := mediaTypeFault(k.last.header); reason != "" {
		return value, response, k.responseError(reason, nil)
	}
	if value, err = decode(k.buffer); err != nil {
		return value, response, k.responseError("body", err)
	}
	return value, k.response(), nil
}

func (c *Client) newCall(ctx context.Context, r request, opts []CallOption) (*call, error) {
	if ctx == nil {
		return nil, &ArgumentError{r.operation.name, "ctx", "is nil"}
	}
	if c == nil || c.retrying == nil {
		return nil, &ArgumentError{r.operation.name, "Client", "was not made by NewClient"}
	}
	k := &call{Context: ctx, client: c, operation: r.operation, url: *c.petsURL}
	if c.logger != nil {
		k.turn.waiting = func(w wait) { k.logWait(w.reason, w.until, w.waiters) }
	}
	if r.operation == getPet {
		k.url.Path = string(strconv.AppendInt(append([]byte(k.url.Path), '/'), r.id, 10))
	}
	k.url.RawQuery = r.query
	var err error
	if k.config, err = c.call.with(opts); err != nil {
		return nil, withOperation(err, r.operation.name)
	}
	return k, nil
}

// do sends the request until there is an outcome.
func (k *call) do(r request) error {
	if err := k.admit(); err != nil {
		return err
	}
	defer func() { k.release(Observation{}) }() // should net/http give up before the attempt
	k.newRequest(r)
	resp, err := k.client.retrying.Do(&k.request)
	if err == nil {
		_ = resp.Body.Close() // it has none; see bodyless
	}
	return k.outcome(err)
}

// newRequest builds the request by hand: everything in it is known to be well-formed.
func (k *call) newRequest(r request) {
	k.http = http.Request{Method: r.operation.method, URL: &k.url}
	if body := r.body; body != nil {
		k.http.ContentLength = int64(len(body))
		k.http.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	k.current = &k.first
	k.renew(&k.http)
	k.request.Request = &k.http
}

// renew gives req what each attempt has of its own. The header is filled in by the attempt; until then it holds
// at most the cookies of the caller's jar.
func (k *call) renew(req *http.Request) {
	k.current.call = k
	var ctx context.Context = k.current
	if !k.operation.repeatable { // only then it matters what exactly failed
		if k.trace == nil {
			k.trace = newConnectionTrace()
		}
		ctx = httptrace.WithClientTrace(ctx, &k.trace.hooks)
	}
	*req = *req.WithContext(ctx)
	req.Header = k.client.cookies()
	if req.GetBody != nil {
		req.Body, _ = req.GetBody() // ours, which cannot fail
	}
}

// header is that of one attempt. The values are shared between requests, and their capacity is their length,
// so that appending to one leaves the others alone.
func (k *call) header(cookies http.Header, body bool) http.Header {
	h := maps.Clone(k.client.headers) // which is less work than filling a new one
	maps.Copy(h, cookies)
	maps.Copy(h, k.config.header)
	h["Authorization"] = k.last.authorization()
	if body {
		h["Content-Type"] = h["Accept"]
	}
	return h
}

// begin starts an attempt.
func (k *call) begin() {
	k.attempts++
	k.due = false
	k.last = exchange{}
}

// release gives the permit back, with what became of the request. Further calls do nothing.
func (k *call) release(o Observation) {
	if permit := k.permit; permit != nil {
		k.permit = nil
		permit.Release(o)
	}
}

// outcome is the error of the call once go-retryablehttp has ended its loop with err.
func (k *call) outcome(err error) error {
	if !k.due {
		err := k.attemptError()
		if err == nil {
			k.client.retries.succeeded()
		}
		return err
	}
	// The next attempt was due and did not come: admit refused it, or the context ended before it was asked.
	_, refused := errors.AsType[*RateLimitError](err)
	if !refused && endOf(k.Context) != nil && errors.Is(err, k.Err()) {
		return k.endedWhileWaiting()
	}
	return err
}

// attemptError is the error of the last attempt, nil if it was a success.
func (k *call) attemptError() error {
	x := &k.last
	_, ended := errors.AsType[*endedError](x.err)
	switch {
	case x.failure == failureProtocol:
		return k.responseError("not HTTP", x.err)
	case ended, x.statusCode == 0:
		return &TransportError{k.operation.name, k.attempts, x.sent, x.err}
	case x.statusCode == k.operation.success:
		return k.successError()
	case x.statusCode/100 == 2:
		return k.responseError("status is not the documented one", nil)
	case x.statusCode == http.StatusTooManyRequests:
		return &RateLimitError{
			Operation: k.operation.name,
			RetryAt:   x.retryAt(),
			RateLimit: x.rateLimit,
			Scope:     scopeOf(x.observation(time.Time{}), x.windowEnd()),
			Err:       k.apiError(),
		}
	}
	return k.apiError()
}

// successError is what is wrong with the body of an answer that has the documented status.
func (k *call) successError() error {
	switch {
	case k.last.tooLarge:
		return k.responseError("body is too large; see WithMaxResponseBytes", nil)
	case k.last.err != nil:
		return k.responseError("body is cut off", k.last.err)
	}
	return nil
}

func (k *call) apiError() *APIError {
	e := &APIError{
		Operation:  k.operation.name,
		RetryAfter: k.last.retryAfter,
		Body:       k.last.bodyStart(),
		Response:   k.response(),
	}
	code, message := decodeError(k.buffer, k.last.body)
	key := k.last.authorization.key()
	e.Code, e.Message = redact(code, key), redact(message, key)
	return e
}

func (k *call) responseError(reason string, err error) *ResponseError {
	if err != nil { // a decoder's quotes names
		err = redactError(err, k.last.authorization.key())
	}
	return &ResponseError{k.operation.name, reason, k.last.bodyStart(), k.response(), err}
}

func (k *call) response() Response {
	return Response{k.last.statusCode, k.last.header, k.last.rateLimit, k.attempts}
}

type callKey struct{}

// Value finds the call and its turn, and what the caller put there.
func (k *call) Value(key any) any {
	switch key.(type) {
	case callKey:
		return k
	case turnKey:
		return &k.turn
	}
	return k.Context.Value(key)
}

// callFrom returns the call of a request that a Client has made.
func callFrom(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// logAttempt is at level Debug: one line for every request.
func (k *call) logAttempt() {
	if k.client.logger == nil {
		return
	}
	attrs := []slog.Attr{
		slog.String("operation", k.operation.name),
		slog.Int("attempt", k.attempts),
	}
	if k.last.statusCode != 0 {
		attrs = append(attrs, slog.Int("status", k.last.statusCode), slog.Any("rate_limit", k.last.rateLimit))
	}
	if k.last.err != nil {
		attrs = append(attrs, slog.String("error", oneLine(k.last.err.Error())))
	}
	k.client.logger.LogAttrs(k.Context, slog.LevelDebug, "petstore: attempt", attrs...)
}

func (k *call) logWait(reason string, until time.Time, waiting int) {
	if k.client.logger == nil {
		return
	}
	attrs := []slog.Attr{slog.String("operation", k.operation.name), slog.String("reason", reason)}
	if !until.IsZero() {
		attrs = append(attrs, slog.Time("until", until))
	}
	attrs = append(attrs, slog.Int("waiting", waiting))
	k.client.logger.LogAttrs(k.Context, slog.LevelInfo, "petstore: waiting", attrs...)
}
