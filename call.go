package petstore

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/ratelimit"
)

// call is one call of a method, on one goroutine. It is the transport of its own retry loop: each
// RoundTrip, the first one too, is one attempt (send.go), after which checkRetry decides whether
// there is another one (retry.go).
type call struct {
	request
	client  *Client
	config  *config         // of the client, with the options of the call; only read
	ctx     context.Context // of the requests: that of the caller, as CallStart returned it
	info    Call            // each attempt has a copy in its context
	started time.Time
	maxWait time.Duration // that is left of WithMaxWait
	sent    int           // requests that may have been written

	last     *exchange      // of the last attempt
	previous *exchange      // of the attempt before it
	pause    ratelimit.Wait // before the attempt that is planned; without a Reason, none is
}

// request is what a method asks for.
type request struct {
	*operation
	path, query string // of the URL, below the base URL, escaped
	body        []byte // nil for none
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
	k.info = Call{
		ID:      hex.EncodeToString(binary.BigEndian.AppendUint64(nil, rand.Uint64())),
		BaseURL: c.base, Operation: r.name, Method: r.method, Template: c.baseURL.Path + r.template,
		KeyID: c.KeyID(), Background: config.background,
	}
	waits, end := k.begin(ctx)
	defer end()
	err := k.run(waits)
	if err == nil {
		err = k.decode(decode)
		*response = k.response(k.last)
	}
	k.callDone(err)
	return err
}

// begin calls the CallStart functions, and sets the context of the call. It returns another one,
// which WithStop ends, too: that of the waits and the reads; and a function that frees both.
func (k *call) begin(ctx context.Context) (waits context.Context, end func()) {
	k.ctx = ctx
	k.callStart()
	end = func() {}
	if d := k.config.callTimeout; d > 0 {
		k.ctx, end = context.WithTimeoutCause(k.ctx, d, &endError{&timeoutError{"call", d}, k.info.ID})
	}
	stop := k.config.stop
	if stop == nil {
		return k.ctx, end
	}
	waits, cancel := context.WithCancelCause(k.ctx)
	stopped := func() { cancel(&endError{fmt.Errorf("%w: %w", ErrStopped, foreign(context.Cause(stop))), k.info.ID}) }
	if stop.Err() != nil {
		stopped() // AfterFunc would take a moment
	}
	endTimeout, forget := end, context.AfterFunc(stop, stopped)
	return waits, func() { forget(); cancel(nil); endTimeout() }
}

// run makes attempts while there is to be another one, and returns the error of the call. What came
// of the attempts is in k.last, and not in what the loop returns.
func (k *call) run(waits context.Context) error {
	u := *k.client.baseURL
	if path, err := url.PathUnescape(k.path); err == nil { // Do has checked it
		if path != k.path {
			u.RawPath = u.EscapedPath() + k.path
		}
		u.Path += path
	}
	u.RawQuery = k.query
	loop := retryablehttp.Client{
		HTTPClient: &http.Client{Transport: k, CheckRedirect: refuseRedirect},
		CheckRetry: k.checkRetry, Backoff: k.backoff, RetryMax: math.MaxInt,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	r := http.Request{
		Method: k.method, URL: &u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
	}
	_, _ = loop.Do(&retryablehttp.Request{Request: r.WithContext(waits)})
	if k.pause.Reason != "" { // the context ended before the attempt that was planned
		k.endPause()
		k.previous, k.last = k.last, &exchange{failure: refused, err: k.endReason(waits)}
	}
	if !k.last.succeeded() {
		return k.error(k.last)
	}
	k.client.tokens.earn()
	return nil
}

// refuseRedirect is the CheckRedirect of each call: the key must not leave the base URL.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// decode decodes the body of a success. A body that is empty, that is no JSON or that does not
// follow the document gives a *ResponseError. A 204 has no body.
func (k *call) decode(decode func([]byte) error) error {
	x := k.last
	mediaType, _, _ := strings.Cut(x.header.Get("Content-Type"), ";")
	mediaType = strings.TrimSpace(mediaType)
	var err error
	switch {
	case x.was(http.StatusNoContent), decode == nil && len(x.body) == 0:
		return nil
	case len(x.body) == 0: // the decoder would report no more than EOF
		return k.responseError(x, "body is empty", nil)
	case !strings.EqualFold(mediaType, "application/json"):
		return k.responseError(x, "Content-Type is "+safetext.Quote(mediaType)+", not application/json", nil)
	case decode != nil:
		err = decode(x.body)
	case !jsontext.Value(x.body).IsValid():
		err = errors.New("is not JSON")
	}
	if err == nil {
		return nil
	}
	// The error itself is not wrapped: the decoder quotes names from the body, which may contain
	// anything.
	return k.responseError(x, "body", errors.New(safetext.Line(safetext.Redact(err.Error(), x.key.Secret()))))
}

// response returns what results and errors say about the last response of the call.
func (k *call) response(x *exchange) Response {
	return Response{x.outcome.StatusCode, x.header, x.outcome.Window, k.sent}
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

// foreign returns an error of a function, a transport or a limiter of the user, as an error of the
// call may wrap it. If it is about another call, or about a context that is not that of the call,
// only its text is kept.
func foreign(err error) error {
	if err != nil && (isOfCall(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return errors.New(err.Error())
	}
	return err
}

// isOfCall reports whether err is one of the five errors of a call. As the cause of a context it is
// about another call: an errgroup, for instance, makes the error of one call the cause of the
// others.
func isOfCall(err error) bool {
	_, ok := errors.AsType[interface {
		error
		slog.LogValuer
		Is(target error) bool
	}](err)
	return ok
}

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
		decode = func(body []byte) error { return json.Unmarshal(body, out) }
	}
	if in != nil {
		var err error
		if r.body, err = json.Marshal(in); err != nil { // its text may contain a part of in
			return nil, &ArgumentError{op.name, "in", "cannot be encoded as JSON"}
		}
	}
	response := &Response{}
	if err := c.do(ctx, r, opts, response, decode); err != nil {
		return nil, err
	}
	return response, nil
}

// problem returns which of the arguments of Do is wrong, and why.
func (r *request) problem(in, out any) (argument, problem string) {
	const bytes = "is a []byte; use json.RawMessage for JSON as it is"
	_, path := credential.PathBelow(r.path, r.query)
	_, fromBytes := in.([]byte)
	_, toBytes := out.(*[]byte)
	switch target := reflect.ValueOf(out); {
	case !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, r.method):
		return "method", "is not GET, POST, PUT, PATCH or DELETE"
	case path != "":
		return "path", path
	case in != nil && r.method == http.MethodGet:
		return "in", "is set, but a GET has no body"
	case fromBytes:
		return "in", bytes
	case toBytes:
		return "out", bytes
	case out != nil && (target.Kind() != reflect.Pointer || target.IsNil()):
		return "out", "is not a pointer"
	}
	return "", ""
}

// when returns text if applies is true, else the empty string. It saves an if for each part of a
// text.
func when(applies bool, text string) string {
	if applies {
		return text
	}
	return ""
}
