package petstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/petstore/petstore-go/internal/body"
	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/safetext"
)

// call is one API call with all its attempts. Only its goroutine changes it; other goroutines may
// ask for its description through the context.
type call struct {
	description

	// ctx is the context of the requests: that of the caller, with the call in it.
	ctx context.Context
	// waits is the context of the waits. It is like ctx, but WithStop ends it, too.
	waits context.Context
	// cancel has the functions that free what the contexts hold, at the end of the call.
	cancel []func()
	// begun is when the call began. It is set only if there are traces, which get the duration.
	begun time.Time
	// timedOut is the cause of the contexts after WithCallTimeout; nil without the option.
	timedOut *timeoutError
	// ended is why the call must send nothing more; nil if it may.
	ended error

	// last is the outcome of the last attempt; nil before the first.
	last *outcome
	// sent is how many requests may have been written: the Attempts of results and errors.
	sent int
	// asked is when the call first asked for its key and a permit. A later attempt keeps its place in
	// the queue by it.
	asked time.Time

	// first is the first attempt, and nearly always the only one. It saves an allocation.
	first attempt
}

// description is what a context leads to. It is apart from the attempts, so that no dump of the
// context, which traces get, shows the header with the key.
type description struct {
	request

	client *Client
	config *callConfig

	mu   sync.Mutex // guards info, for describe
	info Call       // its Attempt is the number of attempts that were admitted
}

// request is what an operation asks for.
type request struct {
	operation *operation
	// id takes the place of the parameter in the template, if that has one.
	id int64
	// path takes the place of the template for Do, below the base URL. It is unescaped; rawPath is as
	// the caller of Do escaped it.
	path, rawPath string
	query         string
	body          []byte // nil for none
}

// url returns the URL of the request.
func (r *request) url(base *url.URL) url.URL {
	u := *base
	u.RawQuery = r.query
	if r.path != "" {
		u.Path, u.RawPath = base.Path+r.path, base.EscapedPath()+r.rawPath
		return u
	}
	before, _, hasID := strings.Cut(r.operation.template, "{")
	path := append(append(make([]byte, 0, 64), base.Path...), before...)
	if hasID {
		path = strconv.AppendInt(path, r.id, 10)
	}
	u.Path = string(path)
	return u
}

// errPanicked is the error in CallDoneInfo and AttemptDoneInfo after a panic.
var errPanicked = errors.New("petstore: the call panicked")

// perform makes a call of c. If the response is the documented success, it returns the decoded
// body, unless decode is nil. Any other end of the call is an error.
func perform[T any](
	ctx context.Context, c *Client, r request, opts []CallOption, decode func(*body.Buffer) (T, error),
) (value T, response Response, err error) {
	k, err := newCall(ctx, c, r, opts)
	if err != nil {
		return value, response, err
	}
	err = errPanicked // the traces get it if the code below panics
	defer func() { k.end(err) }()
	k.begin(ctx)
	if err = k.run(); err == nil {
		value, response, err = decodeResponse(k, decode)
	}
	c.shared.buffers.Put(k.last.body)
	return value, response, err
}

// newCall returns a call that has not begun. A wrong argument or option is an error here, before
// the traces are told of a call, because nothing is sent then.
func newCall(ctx context.Context, c *Client, r request, opts []CallOption) (*call, error) {
	switch {
	case ctx == nil:
		return nil, argumentError(r.operation.name, "ctx", "is nil")
	case c == nil || c.shared == nil:
		return nil, argumentError(r.operation.name, "Client", "was not made by NewClient")
	}
	config := &c.config.call
	if len(opts) > 0 {
		changed := &clientConfig{call: *config}
		if err := apply(changed, opts); err != nil {
			return nil, withOperation(err, r.operation.name)
		}
		config = &changed.call
	}
	if reason := reservedFor(r.operation, config.header); reason != "" {
		return nil, argumentError(r.operation.name, "WithHeader", reason)
	}
	return &call{description: description{request: r, client: c, config: config}}, nil
}

// begin calls the CallStart functions, starts the timeout of the call, and makes the contexts of
// its requests and of its waits.
func (k *call) begin(ctx context.Context) {
	k.ctx = context.WithValue(ctx, callKey{}, &k.description)
	if len(k.client.traces) > 0 {
		k.begun = time.Now()
		k.startTraces()
	}
	if timeout := k.config.callTimeout; timeout > 0 {
		k.timedOut = &timeoutError{"WithCallTimeout of " + timeout.String()}
		limited, cancel := context.WithTimeoutCause(k.ctx, timeout, k.timedOut)
		k.ctx, k.cancel = limited, append(k.cancel, cancel)
	}
	k.waits = k.ctx
	if stop := k.client.config.stop; stop.Done() != nil {
		waits, cancel := context.WithCancel(k.ctx)
		forget := context.AfterFunc(stop, cancel)
		k.waits, k.cancel = waits, append(k.cancel, cancel, func() { forget() })
	}
}

// end calls the CallDone functions. It is called after a panic, too, so that each CallStart is
// followed by a CallDone.
func (k *call) end(err error) {
	for _, cancel := range k.cancel {
		defer cancel() // after the traces, which get the context
	}
	if !k.begun.IsZero() {
		k.doneTraces(err)
	}
}

// decodeResponse decodes the body of a success. A body that is empty, that is no JSON or that does
// not follow the document gives a *ResponseError.
func decodeResponse[T any](k *call, decode func(*body.Buffer) (T, error)) (value T, response Response, err error) {
	o := k.last
	switch {
	case decode == nil, o.Status == http.StatusNoContent:
		return value, k.response(o), nil
	// For an empty body, the decoder would report no more than EOF.
	case len(o.body.Bytes) == 0 && !k.operation.raw:
		return value, response, k.responseError(o, "body is empty", nil)
	}
	if o.mediaType != "" && !k.operation.raw {
		return value, response, k.responseError(o, safetext.Redact(o.mediaType, o.key.Secret()), nil)
	}
	if value, err = decode(o.body); err != nil {
		// The error itself is not wrapped: the decoder quotes names from the body, which may be long and
		// contain anything.
		text := safetext.Line(safetext.Redact(err.Error(), o.key.Secret()))
		return value, response, k.responseError(o, "body", errors.New(text))
	}
	return value, k.response(o), nil
}

// describe returns the call as users see it.
func (d *description) describe() Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.info.ID == "" { // most calls are never described
		d.info.ID = hex.EncodeToString(binary.BigEndian.AppendUint64(nil, rand.Uint64()))
		d.info.BaseURL, d.info.Template = d.client.shared.base, d.client.shared.baseURL.Path+d.operation.template
		d.info.Operation, d.info.Method = d.operation.name, d.operation.method
		d.info.Background = d.config.background
	}
	return d.info
}

// change changes what describe returns. Other goroutines may call describe at the same time.
func (d *description) change(f func(c *Call)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(&d.info)
}

// endReason returns an error if the call must send nothing more, because its context or that of
// WithStop has ended.
func (k *call) endReason() error {
	if k.ended == nil {
		k.ended = k.contextError()
	}
	if stop := k.client.config.stop; k.ended == nil && stop.Err() != nil {
		k.ended = fmt.Errorf("%w: %w", ErrStopped, foreign(context.Cause(stop)))
	}
	return k.ended
}

// Do sends a request that the SDK has no method for, below the base URL, with the client's key,
// limiter and rules: a GET is repeated, everything else is sent once and may match
// [ErrOutcomeUnknown]; after any other error the service did not carry out the request. method is
// GET, POST, PUT, PATCH or DELETE. path must be escaped, as by [net/url.PathEscape], and may have a
// query: "pets/7?full=true".
//
// in is sent as JSON, unless nil; a []byte or [encoding/json.RawMessage] as it is, with the
// Content-Type of [WithHeader] if that is not JSON. The body of a 2xx is decoded as JSON into out,
// unless nil; a *[]byte or *[encoding/json.RawMessage] gets it as it is, also if it is empty or of
// another media type. A 204 leaves out unchanged.
//
// The Operation of its errors is "do " and the method, and [Call].Template ends in /{path}, so that
// logs and metrics have few different values.
func (c *Client) Do(
	ctx context.Context, method, path string, in, out any, opts ...CallOption,
) (*Response, error) {
	path, query, _ := strings.Cut(path, "?")
	below, problem := credential.PathBelow(path, query)
	target := reflect.ValueOf(out)
	name, known := "do", slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, method)
	if known {
		name += " " + method
	}
	switch {
	case !known:
		return nil, argumentError(name, "method", "is not GET, POST, PUT, PATCH or DELETE")
	case problem != "":
		return nil, argumentError(name, "path", problem)
	case out != nil && (target.Kind() != reflect.Pointer || target.IsNil()):
		return nil, argumentError(name, "out", "is not a pointer")
	case in != nil && method == http.MethodGet:
		return nil, argumentError(name, "in", "is set, but a GET has no body")
	}
	encoded, sendsRaw, err := encodeAny(in)
	if err != nil { // the text of err is left out: it may contain a part of in
		return nil, argumentError(name, "in", "cannot be encoded as JSON")
	}
	decode, raw := decodeInto(out)
	op := &operation{
		name: name, method: method, template: "/{path}", repeatable: method == http.MethodGet, sendsRaw: sendsRaw, raw: raw,
	}
	r := request{operation: op, path: below, rawPath: "/" + strings.TrimPrefix(path, "/"), query: query, body: encoded}
	_, response, err := perform(ctx, c, r, opts, decode)
	if err != nil {
		return nil, err
	}
	return &response, nil
}

// encodeAny returns the body for the argument in of Do, nil for none, and whether the caller gave
// the body as bytes.
func encodeAny(in any) (encoded []byte, raw bool, err error) {
	switch in := in.(type) {
	case nil:
		return nil, false, nil
	case []byte:
		// The copy is never nil: even an empty body has a Content-Type.
		return append([]byte{}, in...), true, nil
	case json.RawMessage:
		return encodeAny([]byte(in))
	}
	encoded, err = json.Marshal(in)
	return encoded, false, err
}

// decodeInto returns a function that decodes a body into out, nil if out is nil, and whether out
// gets the body as it is.
func decodeInto(out any) (decode func(*body.Buffer) (struct{}, error), raw bool) {
	switch out := out.(type) {
	case nil:
		return nil, false
	case *[]byte:
		return func(b *body.Buffer) (struct{}, error) { *out = bytes.Clone(b.Bytes); return struct{}{}, nil }, true
	case *json.RawMessage:
		return decodeInto((*[]byte)(out))
	}
	return func(b *body.Buffer) (struct{}, error) { return struct{}{}, json.Unmarshal(b.Bytes, out) }, false
}
