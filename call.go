package petstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-retryablehttp"
)

// operation is one of the three operations of the service (section 4).
type operation struct {
	index      int // of Client.templates
	name       string
	method     string
	template   string // of the path below /pets
	success    int    // the documented status
	repeatable bool   // carrying it out twice does no more than once
}

const (
	opListPets  = "listPets"
	opCreatePet = "createPet"
	opGetPet    = "getPet"
)

var (
	listPets  = &operation{0, opListPets, http.MethodGet, "", http.StatusOK, true}
	createPet = &operation{1, opCreatePet, http.MethodPost, "", http.StatusCreated, false}
	getPet    = &operation{2, opGetPet, http.MethodGet, "/{petId}", http.StatusOK, true}
)

// request is what an operation asks for.
type request struct {
	operation *operation
	id        int64 // of getPet
	query     string
	body      []byte // nil: none
}

// call is one API call over all its attempts. The way of a create that is answered 429 and then 201:
//
//	pets.go      CreatePet validates and encodes, perform makes the call
//	call.go      run hands a carrier request to go-retryablehttp, the engine of the attempts
//	call.go      roundTrip, below http.Client: one admission, one attempt
//	gate.go      admit gets the key and a permit of the limiter
//	attempt.go   send puts the request on the wire, gives the permit back and reads the 429
//	retry.go     checkRetry plans: again, not before Retry-After is over
//	gate.go      admit waits, at the call's old place in the limiter's queue
//	attempt.go   send again: 201
//	retry.go     checkRetry plans: no more
//	outcome.go   outcome is the call's error: none; codec.go decodes the Pet
//
// go-retryablehttp and http.Client see only the carrier: they find the call in its context, and
// neither a body nor a key nor a redirect that they could act on.
type call struct {
	id        uint64
	client    *Client
	operation *operation
	config    *callConfig
	body      []byte
	url       url.URL
	ctx       callContext
	carrier   http.Request
	engine    retryablehttp.Request
	first     attempt  // saves the allocation of one
	last      *attempt // nil before the first
	buffer    *buffer  // of the last response's body

	plan    plan         // what follows the last attempt
	refused error        // why the next attempt was not begun
	newKey  atomic.Bool  // the service refused the key, and a function may have another
	free    atomic.Int64 // of the current Acquire, what does not count against WithMaxWait

	attempts atomic.Int32 // begun so far
	waited   atomic.Int64 // for the rate limit so far, as a time.Duration
	keyID    atomic.Pointer[string]

	mu     sync.Mutex // guards ticket: two limiters may be asked at once
	ticket ticket     // the first of a list, which hardly ever has a second
}

// callContext is the context of a call: the caller's, in which the call is found.
type callContext struct {
	context.Context
	call *call
}

// Value implements [context.Context].
func (c *callContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return c.call
	}
	return c.Context.Value(key)
}

// callKey is the context's key for a *call, or for the *attempt that a request belongs to.
type callKey struct{}

// perform makes a call and decodes the body of its documented success; anything else is an error.
func perform[T any](
	ctx context.Context, c *Client, r request, opts []CallOption, decode func(*buffer) (T, error),
) (value T, response Response, err error) {
	k, err := c.newCall(ctx, r, opts)
	if err != nil {
		return value, response, err
	}
	done := k.traceCall()
	defer func() { done(err) }()
	err = errPanicked // for the trace, if something below panics
	if timeout := k.config.callTimeout; timeout > 0 {
		cause := errors.New("WithCallTimeout of " + timeout.String())
		bounded, cancel := context.WithTimeoutCause(k.ctx.Context, timeout, cause)
		defer cancel()
		k.ctx.Context = bounded //nolint:fatcontext // once for each call
	}
	if err = k.run(); err != nil {
		k.awaitEnd(err)
	} else {
		value, response, err = decodeResponse(k, decode)
	}
	c.buffers.put(k.buffer)
	return value, response, err
}

// errPanicked is what a ClientTrace is given as the error of a call that panicked.
var errPanicked = errors.New("petstore: the call panicked")

func decodeResponse[T any](k *call, decode func(*buffer) (T, error)) (value T, response Response, err error) {
	if reason := mediaTypeFault(k.last.header); reason != "" {
		return value, response, k.last.responseError(reason, nil)
	}
	if value, err = decode(k.buffer); err != nil {
		return value, response, k.last.decodeError(err)
	}
	response = k.last.response()
	if k.config.rawBody {
		response.RawBody = k.buffer.whole()
	}
	return value, response, nil
}

func (c *Client) newCall(ctx context.Context, r request, opts []CallOption) (*call, error) {
	if ctx == nil {
		return nil, &ArgumentError{r.operation.name, "ctx", "is nil"}
	}
	if c == nil || c.engine == nil {
		return nil, &ArgumentError{r.operation.name, "Client", "was not made by NewClient"}
	}
	k := &call{id: rand.Uint64(), client: c, operation: r.operation, body: r.body, url: *c.petsURL}
	k.ctx = callContext{ctx, k}
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

// run sends the request until there is an outcome.
func (k *call) run() error {
	carrier := http.Request{Method: k.operation.method, URL: &k.url, Header: k.client.cookies()}
	k.carrier = *carrier.WithContext(&k.ctx)
	k.engine.Request = &k.carrier
	resp, err := k.client.engine.Do(&k.engine)
	if err == nil {
		_ = resp.Body.Close() // it has none; see carrierResponse
	}
	return k.outcome(err)
}

// roundTrip makes one attempt: it waits at the gate and sends the request. carrier is what http.Client has
// made of the engine's request: it holds the cookies of the user's jar.
func (k *call) roundTrip(carrier *http.Request) (*http.Response, error) {
	a, err := k.admit()
	if err != nil {
		k.refused = err
		return nil, err
	}
	k.last = a
	a.send(carrier.Header)
	return a.carrierResponse()
}

// roundTripper is a function, not a struct: no dump can reach what it closes over, such as connections with
// the key in their buffers.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// newRoundTripper returns the transport of the carrier requests. It has no CloseIdleConnections, because
// go-retryablehttp calls that after every failure and would drop the pool of everybody on the transport below.
func newRoundTripper() http.RoundTripper {
	return roundTripper(func(carrier *http.Request) (*http.Response, error) {
		return callOf(carrier.Context()).roundTrip(carrier)
	})
}
