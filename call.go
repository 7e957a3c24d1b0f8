package petstore

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/body"
	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/retry"
)

// call is one API call with all its attempts. These are the steps of a create whose first response
// is a 429 and whose second is a 201:
//
//	pets.go      CreatePet validates and encodes; perform makes the call
//	engine.go    run passes a placeholder request to go-retryablehttp, the loop around the attempts
//	call.go      attempt, below http.Client: one admission, one request
//	gate.go      admit gets the key and a permit of the limiter
//	attempt.go   send writes the request, releases the permit and reads the 429
//	call.go      again asks internal/retry: a retry, not before Retry-After has passed
//	gate.go      admit waits, with the call's first ticket in the limiter's queue
//	attempt.go   send writes the request again and reads the 201
//	call.go      again: no retry
//	outcome.go   ofLast returns the error of the call, here nil; codec.go decodes the Pet
//
// Nothing keeps a call after its end, so that calls share a pool.
type call struct {
	gate

	placeholder placeholder
	first       attempt    // saves an allocation: most calls have one attempt
	last        *attempt   // nil before the first
	plan        retry.Plan // what to do after the last attempt
	refused     error      // why the next attempt was not begun
	sent        bool       // a request may have been written
}

// kept has the parts of a call that a transport or a function of the user may keep.
type kept struct {
	progress progress
	first    outgoing
}

// arguments has the parameters of an operation.
type arguments struct {
	operation *operation
	id        int64  // of the pet in the path
	path      string // of Do, below the base URL
	decodes   bool   // Do decodes the body
	query     string
	body      []byte // nil for none
}

// perform makes a call. It decodes the body of the documented success; all else is an error.
func perform[T any](
	ctx context.Context, c *Client, args arguments, opts []CallOption, decode func(*body.Buffer) (T, error),
) (value T, response Response, err error) {
	k, err := newCall(ctx, c, args, opts)
	if err != nil {
		return value, response, err
	}
	traces := c.tracer.traces
	traced := c.tracer.call(k.ctx)
	err = errPanicked // done reports it if the code below panics
	defer func() { traced.done(traces, err) }()
	if traced != nil {
		traced.start(traces)
		k.ctx.Context = traced.last
	}
	if timeout := k.request.config.callTimeout; timeout > 0 {
		cause := errors.New("WithCallTimeout of " + timeout.String())
		bounded, cancel := context.WithTimeoutCause(k.ctx.Context, timeout, cause)
		defer cancel()
		k.ctx.Context = bounded //nolint:fatcontext // once for each call
	}
	if err = k.run(); err != nil {
		deadline.AwaitCause(k.ctx.Context, err)
	} else {
		value, response, err = decodeResponse(k, decode)
	}
	if k.last != nil {
		c.buffers.Put(k.last.buffer)
	}
	*k = call{}
	c.calls.Put(k)
	return value, response, err
}

func decodeResponse[T any](k *call, decode func(*body.Buffer) (T, error)) (value T, response Response, err error) {
	a, o := k.last, k.outcome()
	none := k.request.operation.success == 0 && a.response.StatusCode == http.StatusNoContent
	switch {
	case k.request.drops, none:
		return value, o.response(), nil
	case a.buffer.Size() == 0: // the decoder would report no more than EOF
		return value, response, o.responseError("body is empty", nil)
	}
	// The header in which the key is replaced decides nothing: the key may be a usual word.
	if reason := body.MediaTypeProblem(a.raw.Header); reason != "" {
		return value, response, o.responseError(cmp.Or(body.MediaTypeProblem(a.header), "Content-Type"), nil)
	}
	if value, err = decode(a.buffer); err != nil {
		return value, response, o.decodeError(err)
	}
	response = o.response()
	if k.request.config.rawBody {
		response.RawBody = a.buffer.Whole()
	}
	return value, response, nil
}

func newCall(ctx context.Context, c *Client, args arguments, opts []CallOption) (*call, error) {
	op := args.operation
	if ctx == nil {
		return nil, &ArgumentError{op.name, "ctx", "is nil"}
	}
	if c == nil || c.engine == nil {
		return nil, &ArgumentError{op.name, "Client", "was not made by NewClient"}
	}
	config, err := c.call.with(opts)
	if err != nil {
		return nil, withOperation(err, op.name)
	}
	f := &kept{progress: progress{
		id: rand.Uint64(), core: &c.core,
		request: request{operation: op, config: config, url: *c.petsURL, body: args.body},
	}}
	f.progress.ctx = callContext{ctx, &f.progress}
	k, _ := c.calls.Get().(*call)
	if k == nil {
		k = new(call)
	}
	k.progress, k.first.outgoing = &f.progress, &f.first
	url := &k.request.url
	url.RawQuery = args.query
	if op.template == ofOne {
		url.Path = string(strconv.AppendInt(append([]byte(url.Path), '/'), args.id, 10))
	}
	if args.path != "" {
		url.Path = strings.TrimSuffix(url.Path, "/pets") + args.path
		k.request.drops = !args.decodes
	}
	return k, nil
}

// run sends the request, again if the plan says so, and returns the error of the call.
func (k *call) run() error {
	err := k.placeholder.run(&k.ctx, k, k.core, &k.request)
	o := k.outcome()
	switch {
	case k.refused != nil:
		return k.refused
	case k.last == nil: // http.Client refused the placeholder
		return o.transportError(err)
	case k.plan.Again: // the context ended before the planned attempt
		return o.endedWhileWaiting(k.ended())
	}
	if err = o.ofLast(); err == nil {
		k.core.retries.Succeeded()
	}
	return err
}

func (k *call) outcome() *outcome { return &outcome{k.request.operation, k.last, k.plan, k.sent} }

// attempt implements [looped]: it waits at the gate and sends the request.
func (k *call) attempt(cookies http.Header) (*http.Response, error) {
	a := &k.first
	var refusedKey *string
	if last := k.last; last != nil {
		a = &attempt{outgoing: new(outgoing), buffer: last.buffer}
		if last.response.StatusCode == http.StatusUnauthorized {
			refusedKey = last.key.ID
		}
	}
	a.progress, a.number = k.progress, int(k.attempts.Load())+1
	if err := k.admit(&a.admission, &k.plan, k.waitReason(), refusedKey); err != nil {
		k.refused = k.refusal(a, err)
		return nil, k.refused
	}
	k.last = a
	a.send(cookies)
	k.sent = k.sent || a.sent
	if a.raw == nil {
		return nil, a.err
	}
	return placeholderResponse(a.raw), nil
}

// waitReason returns the reason for the wait of the plan.
func (k *call) waitReason() WaitReason {
	switch {
	case !k.plan.NotBefore.IsZero() && k.last.scope() != "":
		return WaitReason(k.last.scope())
	case !k.plan.NotBefore.IsZero(), k.plan.Asked:
		return WaitRetryAfter
	}
	return WaitBackoff
}

// refusal returns the error of the call after err, because of which a was not sent.
func (k *call) refusal(a *attempt, err error) error {
	if noKey, ok := errors.AsType[*keyError](err); ok {
		k.attempts.Add(1)
		a.err, a.failure = noKey.error, retry.Permanent
		k.last, k.plan = a, retry.Plan{}
		return k.outcome().ofLast()
	}
	if errors.Is(err, errSameKey) {
		return k.outcome().ofLast() // the service has refused this key
	}
	ended := k.ended()
	err = k.outcome().refusal(err, ended)
	if e, ok := err.(*RateLimitError); ok && ended == nil && k.core.tracer.on() && e.RetryAt.After(time.Now()) { //nolint:errorlint // its own
		left := e.RateLimit.Remaining
		if e.Scope == ScopeBan {
			left = -1
		}
		info := LimitInfo{Call: k.describe(), Scope: e.Scope, Until: e.RetryAt}
		k.core.tracer.limitClosed(k.ctx.Context, info, left, a.closures)
	}
	return err
}

// again implements [looped]: it plans the next attempt.
func (k *call) again() bool {
	if k.refused != nil || k.last == nil {
		return false
	}
	k.plan = k.decide(k.last)
	if k.plan.Costs && k.plan.Again && !k.core.retries.Take() {
		k.plan = retry.Plan{}
	}
	return k.plan.Again
}

// decide returns the plan after a.
func (k *call) decide(a *attempt) retry.Plan {
	result := a.result()
	if result.Success && a.err == nil || k.ended() != nil {
		return retry.Plan{}
	}
	config := k.request.config
	facts := retry.Facts{
		Result:     result,
		Repeatable: k.request.operation.repeatable,
		NewKey:     k.core.rotates && !k.keyRefused.Load(),
		Number:     a.number,
		Policy:     config.retry,
		RetryAfter: a.response.RetryAfter,
		Unlimited:  k.core.limiter == nil,
		Now:        time.Now(),
		MaxWait:    config.maxWait - time.Duration(k.waited.Load()),
		Random:     rand.Int64N,
	}
	facts.Deadline, _ = k.ctx.Deadline()
	if result.Status == http.StatusTooManyRequests {
		facts.OpensAt = opensAt(a.response)
	}
	p := retry.Decide(&facts)
	if p.Again && result.Status == http.StatusUnauthorized {
		k.keyRefused.Store(true) // admit ends the call if the key is the same
	}
	return p
}
