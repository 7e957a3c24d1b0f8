package petstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/safetext"
)

// Do sends a request for which the SDK has no method, to a path below the base URL. The client's
// key, limiter and retries apply. A GET is a read. Any other method is a write, whose error may
// match [ErrOutcomeUnknown]. If the error of a write does not match it, the service has not carried
// out the request. method is GET, POST, PUT, PATCH or DELETE. path must be escaped, as by
// [net/url.PathEscape], and may have a query: "pets/7?full=true".
//
// If in is not nil, Do sends it as JSON. The body of a 2xx must be JSON; if out is not nil, Do
// decodes the body into out. A [encoding/json.RawMessage] is sent or received without a change. Do
// refuses a []byte, because it cannot know whether the bytes are JSON. A 204 leaves out unchanged.
//
// In an error of Do, Operation is "do " and the method, such as "do PUT". [Call].Template ends in
// /{path}, whatever the path is. So logs and metrics have few different values.
func (c *Client) Do(
	ctx context.Context, method, path string, in, out any, opts ...CallOption,
) (*Response, error) {
	op := &operation{name: "do " + method, method: method, template: "/{path}"}
	path, query, _ := strings.Cut(strings.TrimPrefix(path, "/"), "?")
	r := request{operation: op, path: "/" + path, query: query}
	if argument, problem := r.problem(in, out); problem != "" {
		return nil, &ArgumentError{op.name, argument, problem}
	}
	if out != nil {
		r.decode = func(body []byte) error { return json.Unmarshal(body, out) }
	}
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil { // err is not wrapped, because its text may contain a part of this argument
			return nil, &ArgumentError{op.name, "in", "cannot be encoded as JSON"}
		}
		r.body = body
	}
	response := &Response{}
	if err := c.do(ctx, r, opts, response); err != nil {
		return nil, err
	}
	return response, nil
}

// problem returns which of the arguments of Do is wrong, and why.
func (r *request) problem(in, out any) (argument, problem string) {
	const noBytes = "is a []byte; use json.RawMessage for JSON as it is"
	path := credential.PathProblem(r.path, r.query)
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
	k := &call{request: r, client: c, config: config, started: time.Now(), maxWait: config.maxWait}
	k.tracer = tracer{traces: c.traces, ctx: ctx, info: Call{
		ID:      strconv.FormatUint(1<<63|rand.Uint64(), 16), // the highest bit is 1, so that there are sixteen digits
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

// begin calls the CallStart functions and makes the contexts of the call, which end releases.
//
//	k.ctx         ends with the caller's context, or after WithCallTimeout; for writes and traces
//	k.stoppable   ends with k.ctx, or at WithStop; for waits and reads
//
// The contexts of requests, and of the function of WithAPIKeyFunc, are derived from one of these
// two. They also end after the timeout of an attempt.
func (k *call) begin() (end func()) {
	k.callStart()
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
