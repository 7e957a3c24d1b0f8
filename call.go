package petstore

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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
	config  config          // of the client, with the options of the call
	ctx     context.Context // of the requests: that of the caller, as CallStart returned it
	info    Call            // each attempt has a copy in its context
	started time.Time
	sent    int // requests that may have been written

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

// do makes a call. decode decodes the body of its success; nil if nobody wants it. Any other end of
// the call is an error.
func (c *Client) do(ctx context.Context, r request, opts []CallOption, decode func([]byte) error) (Response, error) {
	k, err := c.newCall(ctx, r, opts)
	if err != nil {
		return Response{}, err
	}
	waits, end := k.begin(ctx)
	defer end()
	if err = k.run(waits); err == nil {
		err = k.decode(decode)
	}
	k.callDone(err)
	if err != nil {
		return Response{}, err
	}
	return k.response(k.last), nil
}

// newCall returns a call that has not begun. A wrong argument or option is an error here, before
// CallStart, because nothing is sent then.
func (c *Client) newCall(ctx context.Context, r request, opts []CallOption) (*call, error) {
	switch {
	case ctx == nil:
		return nil, argumentError(r.name, "ctx", "is nil")
	case !c.usable():
		return nil, argumentError(r.name, "Client", "was not made by NewClient")
	}
	k := &call{request: r, client: c, config: *c.config, started: time.Now()}
	if err := apply(&k.config, opts); err != nil {
		return nil, withOperation(err, r.name)
	}
	k.info = Call{
		ID:      hex.EncodeToString(binary.BigEndian.AppendUint64(nil, rand.Uint64())),
		BaseURL: c.base, Operation: r.name, Method: r.method, Template: c.baseURL.Path + r.template,
		KeyID: c.KeyID(), Background: k.config.background,
	}
	return k, nil
}

// begin calls the CallStart functions, and returns the context of the waits and a function that
// frees what the contexts hold. WithStop ends the waits.
func (k *call) begin(ctx context.Context) (waits context.Context, end context.CancelFunc) {
	k.ctx = ctx
	k.callStart()
	end = func() {}
	if d := k.config.callTimeout; d > 0 {
		k.ctx, end = context.WithTimeoutCause(k.ctx, d, k.timedOut("WithCallTimeout", d))
	}
	if k.config.stop == nil {
		return k.ctx, end
	}
	waits, cancel := context.WithCancelCause(k.ctx)
	endTimeout, forget := end, context.AfterFunc(k.config.stop, func() { cancel(k.stopped()) })
	if k.config.stop.Err() != nil { // AfterFunc would take a moment
		cancel(k.stopped())
	}
	return waits, func() { forget(); cancel(nil); endTimeout() }
}

// run makes attempts while there is to be another one, and returns the error of the call. What came
// of the attempts is in k.last, and not in what the loop returns.
func (k *call) run(waits context.Context) error {
	loop := retryablehttp.Client{
		HTTPClient: &http.Client{Transport: k, CheckRedirect: refuseRedirect},
		CheckRetry: k.checkRetry, Backoff: k.backoff, RetryMax: math.MaxInt,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	req := http.Request{Method: k.method, URL: k.url(), Header: http.Header{}}
	_, _ = loop.Do(&retryablehttp.Request{Request: req.WithContext(waits)})
	if k.pause.Reason != "" { // the context ended before the attempt that was planned
		k.endPause()
		k.previous, k.last = k.last, &exchange{failure: refused, err: k.ended(waits)}
	}
	if !k.last.succeeded() {
		return k.error(k.last)
	}
	k.client.tokens.earn()
	return nil
}

// refuseRedirect is the CheckRedirect of each call: the key must not leave the base URL.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// url returns the URL of the request.
func (k *call) url() *url.URL {
	u := *k.client.baseURL
	if path, err := url.PathUnescape(k.path); err == nil { // Do has checked it
		u.Path, u.RawPath = u.Path+path, u.EscapedPath()+k.path
	}
	u.RawQuery = k.query
	return &u
}

// decode decodes the body of a success. A body that is empty, that is no JSON or that does not
// follow the document gives a *ResponseError. A 204 has no body.
func (k *call) decode(decode func([]byte) error) error {
	x := k.last
	mediaType, _, _ := strings.Cut(x.header.Get("Content-Type"), ";")
	mediaType = strings.TrimSpace(mediaType)
	switch {
	case x.outcome.StatusCode == http.StatusNoContent, decode == nil && len(x.body) == 0:
		return nil
	case len(x.body) == 0: // the decoder would report no more than EOF
		return k.responseError(x, "body is empty", nil)
	case !strings.EqualFold(mediaType, "application/json"):
		return k.responseError(x, "Content-Type is "+safetext.Quote(mediaType)+", not application/json", nil)
	}
	if decode == nil {
		decode = checkJSON
	}
	if err := decode(x.body); err != nil {
		// The error itself is not wrapped: the decoder quotes names from the body, which may contain
		// anything.
		text := safetext.Line(safetext.Redact(err.Error(), x.key.Secret()))
		return k.responseError(x, "body", errors.New(text))
	}
	return nil
}

// checkJSON is the decoder of a body whose value nobody wants.
func checkJSON(body []byte) error {
	if !jsontext.Value(body).IsValid() {
		return errors.New("is not JSON")
	}
	return nil
}

// response returns what results and errors say about the last response of the call.
func (k *call) response(x *exchange) Response {
	return Response{x.outcome.StatusCode, x.header, x.outcome.Window, k.sent}
}

// timedOut returns the cause of a context of the call that ends by a timeout.
func (k *call) timedOut(option string, d time.Duration) error {
	return &endError{&timeoutError{option, d}, k.info.ID}
}

// stopped returns the cause of a context of the call that ends by WithStop.
func (k *call) stopped() error {
	cause := foreign(context.Cause(k.config.stop), context.Canceled, context.DeadlineExceeded)
	return &endError{fmt.Errorf("%w: %w", ErrStopped, cause), k.info.ID}
}

// ended returns why a context of the call has ended; nil if it has not. A timeout of another call
// around this one is a cause like others.
func (k *call) ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	own, ok := cause.(*endError)
	switch {
	case ok && own.callID == k.info.ID:
		return own.error
	case err == nil || errors.Is(err, cause):
		return err
	}
	return fmt.Errorf("%w: %w", err, foreign(cause))
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
	name := "do"
	if slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, method) {
		name += " " + method
	}
	op := &operation{name: name, method: method, template: "/{path}"}
	if method != http.MethodGet {
		op.doubt = operationOf(name).doubt
	}
	path, query, _ := strings.Cut(strings.TrimPrefix(path, "/"), "?")
	r := request{operation: op, path: "/" + path, query: query}
	if argument, problem := r.encode(in, out); problem != "" {
		return nil, argumentError(name, argument, problem)
	}
	var decode func([]byte) error
	if out != nil {
		decode = func(body []byte) error { return json.Unmarshal(body, out) }
	}
	response, err := c.do(ctx, r, opts, decode)
	if err != nil {
		return nil, err
	}
	return &response, nil
}

// encode checks the arguments of Do, and encodes in. It returns what is wrong with which of them.
func (r *request) encode(in, out any) (argument, problem string) {
	const bytes = "is a []byte; use json.RawMessage for JSON as it is"
	target := reflect.ValueOf(out)
	_, path := credential.PathBelow(r.path, r.query)
	_, fromBytes := in.([]byte)
	_, toBytes := out.(*[]byte)
	switch {
	case r.name == "do":
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
	case in == nil:
		return "", ""
	}
	var err error
	if r.body, err = json.Marshal(in); err != nil { // its text may contain a part of in
		return "in", "cannot be encoded as JSON"
	}
	return "", ""
}
