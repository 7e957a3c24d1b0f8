package petstore

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/petstore/petstore-go/internal/body"
)

// operation is an operation of the service (section 4), or a request of Do.
type operation struct {
	index      int    // in Client.templates; 0 for Do
	name       string // operationId of the document
	method     string
	template   string // path template below /pets
	success    int    // documented status; 0 for any 2xx
	repeatable bool   // a repetition has no further effect
}

func (o *operation) succeeds(code int) bool {
	return code == o.success || o.success == 0 && code/100 == 2
}

// The operations of the service (section 4), as the Operation fields of errors and of [Call] name
// them.
const (
	OpListPets  = "listPets"
	OpCreatePet = "createPet"
	OpGetPet    = "getPet"
)

var (
	listPets  = &operation{1, OpListPets, http.MethodGet, "", http.StatusOK, true}
	createPet = &operation{2, OpCreatePet, http.MethodPost, "", http.StatusCreated, false}
	getPet    = &operation{3, OpGetPet, http.MethodGet, ofOne, http.StatusOK, true}

	operations = [...]*operation{listPets, createPet, getPet} // in the order of their index
)

// ofOne is the template of the operations on a single pet.
const ofOne = "/{petId}"

// request has the parameters of an operation.
type request struct {
	operation *operation
	id        int64  // of the pet in the path
	path      string // of Do, below the base URL
	decodes   bool   // Do decodes the body
	query     string
	body      []byte // nil for none
}

// call is one API call with all its attempts. These are the steps of a create whose first response
// is a 429 and whose second is a 201:
//
//	pets.go      CreatePet validates and encodes; perform makes the call
//	call.go      run passes a carrier request to go-retryablehttp, the loop around the attempts
//	call.go      roundTrip, below http.Client: one admission, one attempt
//	gate.go      admit gets the key and a permit of the limiter
//	attempt.go   send writes the request, releases the permit and reads the 429
//	retry.go     checkRetry plans a retry, not before Retry-After has passed
//	gate.go      admit waits, with the call's first ticket in the limiter's queue
//	attempt.go   send writes the request again and reads the 201
//	retry.go     checkRetry plans no retry
//	outcome.go   outcome returns the error of the call, here nil; codec.go decodes the Pet
//
// go-retryablehttp and http.Client see only the carrier. It has no body, no key and no redirect
// that they could act on; their hooks find the call in its context.
type call struct {
	id        uint64
	client    *Client
	operation *operation
	config    *callConfig
	body      []byte
	url       url.URL
	ctx       callContext
	traced    *tracedCall // nil without a trace
	carrier   http.Request
	engine    retryablehttp.Request
	first     attempt      // saves an allocation: most calls have one attempt
	last      *attempt     // nil before the first
	buffer    *body.Buffer // body of the last response

	plan    plan         // what to do after the last attempt
	refused error        // why the next attempt was not begun
	sent    bool         // a request may have been written
	drops   bool         // the body of a success is not decoded
	newKey  atomic.Bool  // the service refused the key; WithAPIKeyFunc may return another
	free    atomic.Int64 // time in the current Acquire that WithMaxWait does not count, in ns
	waits   atomic.Bool  // it counts in client.waiting

	attempts atomic.Int32 // number of attempts begun
	waited   atomic.Int64 // time waited for the rate limit, in ns
	keyID    atomic.Pointer[string]

	mu     sync.Mutex // guards ticket: a Limiter of the user may call Ticket from several goroutines
	ticket ticket     // first of a linked list with one ticket for each limiter
}

// perform makes a call. It decodes the body of the documented success; all else is an error.
func perform[T any](
	ctx context.Context, c *Client, r request, opts []CallOption, decode func(*body.Buffer) (T, error),
) (value T, response Response, err error) {
	k, err := c.newCall(ctx, r, opts)
	if err != nil {
		return value, response, err
	}
	err = errPanicked // traceDone reports it if the code below panics
	defer func() { k.traceDone(err) }()
	k.traceStart()
	if timeout := k.config.callTimeout; timeout > 0 {
		cause := errors.New("WithCallTimeout of " + timeout.String())
		bounded, cancel := context.WithTimeoutCause(k.ctx.Context, timeout, cause)
		defer cancel()
		k.ctx.Context = bounded //nolint:fatcontext // once for each call
	}
	if err = k.run(); err != nil {
		awaitCause(k.ctx.Context, err)
	} else {
		value, response, err = decodeResponse(k, decode)
	}
	c.buffers.Put(k.buffer)
	return value, response, err
}

// errPanicked is the error in CallDoneInfo and AttemptDoneInfo after a panic.
var errPanicked = errors.New("petstore: the call panicked")

func decodeResponse[T any](k *call, decode func(*body.Buffer) (T, error)) (value T, response Response, err error) {
	none := k.operation.success == 0 && k.last.statusCode == http.StatusNoContent
	switch {
	case k.drops, none:
		response = k.last.response()
		return value, response, nil
	case k.buffer.Size() == 0: // the decoder would report no more than EOF
		return value, response, k.last.responseError("body is empty", nil)
	}
	// The header in which the key is replaced decides nothing: the key may be a usual word.
	if reason := body.MediaTypeProblem(k.last.raw.Header); reason != "" {
		return value, response, k.last.responseError(cmp.Or(body.MediaTypeProblem(k.last.header), "Content-Type"), nil)
	}
	if value, err = decode(k.buffer); err != nil {
		return value, response, k.last.decodeError(err)
	}
	response = k.last.response()
	if k.config.rawBody {
		response.RawBody = k.buffer.Whole()
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
	if r.operation.template == ofOne {
		k.url.Path = string(strconv.AppendInt(append([]byte(k.url.Path), '/'), r.id, 10))
	}
	if r.path != "" {
		k.url.Path = strings.TrimSuffix(k.url.Path, "/pets") + r.path
	}
	k.drops = r.path != "" && !r.decodes
	k.url.RawQuery = r.query
	var err error
	if k.config, err = c.call.with(opts); err != nil {
		return nil, withOperation(err, r.operation.name)
	}
	return k, nil
}

// run sends the request, again if the plan says so, and returns the error of the call.
func (k *call) run() error {
	carrier := http.Request{Method: k.operation.method, URL: &k.url, Header: k.client.cookies()}
	k.carrier = *carrier.WithContext(&k.ctx)
	k.engine.Request = &k.carrier
	resp, err := k.client.engine.Do(&k.engine)
	if err == nil {
		_ = resp.Body.Close() // it is http.NoBody; see carrierResponse
	}
	return k.outcome(err)
}

// roundTrip makes one attempt: it waits at the gate and sends the request. carrier is the engine's
// request after http.Client has added the cookies of the caller's jar.
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

// roundTripper is a function so that no dump can print the variables that it closes over: they lead
// to connections whose buffers contain the key.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// newRoundTripper returns the transport of the carrier requests. It has no CloseIdleConnections:
// go-retryablehttp calls that after each failure, and would close the idle connections of all calls
// and clients that share the transport of the attempts.
func newRoundTripper() http.RoundTripper {
	return roundTripper(func(carrier *http.Request) (*http.Response, error) {
		return callOf(carrier.Context()).roundTrip(carrier)
	})
}
