package petstore

import (
	"cmp"
	"context"
	"errors"
	"net/http"

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
//	outcome.go   ofLast returns the error of the call, here nil; pet.go decodes it
//
// Nothing keeps a call after its end, so that calls share a pool: half of what a call takes.
type call struct {
	gate
	outcome

	placeholder placeholder
	first       attempt // saves an allocation: most calls have one attempt
	refused     error   // why the next attempt was not begun
}

// kept has the parts of a call that a transport or a function of the user may keep.
type kept struct {
	progress progress
	first    outgoing
}

// perform makes a call of c, which is nil if there is no client. It decodes the body of the
// documented success; all else is an error.
func perform[T any](
	ctx context.Context, c *core, r request, opts []CallOption, decode func(*body.Buffer) (T, error),
) (value T, response Response, err error) {
	f := new(kept)
	if err := f.progress.begin(ctx, c, r, opts); err != nil {
		return value, response, err
	}
	k, _ := c.calls.Get().(*call)
	if k == nil {
		k = new(call)
	}
	k.progress, k.first.outgoing, k.operation = &f.progress, &f.first, r.operation
	err = errPanicked // done reports it if the code below panics
	defer func() { f.progress.done(err) }()
	defer k.start()()
	if err = k.run(); err != nil {
		deadline.AwaitCause(&k.ctx, err)
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
	a := k.last
	switch {
	case a.decodesNothing():
		return value, k.response(), nil
	case a.buffer.Size() == 0: // the decoder would report no more than EOF
		return value, response, k.responseError("body is empty", nil)
	}
	// The header in which the key is replaced decides nothing: the key may be a usual word.
	if reason := body.MediaTypeProblem(a.raw.Header); reason != "" {
		return value, response, k.responseError(cmp.Or(body.MediaTypeProblem(a.header), "Content-Type"), nil)
	}
	if value, err = decode(a.buffer); err != nil {
		return value, response, k.decodeError(err)
	}
	return value, k.response(), nil
}

// run sends the request, again if the plan says so, and returns the error of the call.
func (k *call) run() error {
	err := k.placeholder.run(&k.ctx, k, k.core, &k.request)
	switch {
	case k.refused != nil:
		return k.refused
	case k.last == nil: // http.Client refused the placeholder
		return k.transportError(err)
	case k.plan.Again: // the context ended before the planned attempt
		return k.endedWhileWaiting(k.ended())
	}
	if err = k.ofLast(); err == nil {
		k.core.retries.Succeeded()
	}
	return err
}

// attempt implements [looped]: it waits at the gate and sends the request.
func (k *call) attempt(cookies http.Header) (*http.Response, error) {
	a := &k.first
	if k.last != nil {
		a = &attempt{outgoing: new(outgoing), buffer: k.last.buffer}
	}
	a.progress, a.number = k.progress, int(k.attempts.Load())+1
	if err := k.admit(&a.admission, &k.plan, k.last.waitReason(&k.plan), k.last.refusedKey()); err != nil {
		k.refused = k.refusal(a, err)
		return nil, k.refused
	}
	k.last = a
	a.send(cookies)
	if a.sent {
		k.sent++
	}
	if a.raw == nil {
		return nil, a.err
	}
	return placeholderResponse(a.raw), nil
}

// refusal returns the error of the call after err, because of which a was not sent.
func (k *call) refusal(a *attempt, err error) error {
	if noKey, ok := errors.AsType[*keyError](err); ok {
		k.attempts.Add(1)
		a.err, a.failure = noKey.error, retry.Permanent
		k.last, k.plan = a, retry.Plan{}
		return k.ofLast()
	}
	if errors.Is(err, errSameKey) {
		return k.ofLast() // the service has refused this key
	}
	return k.outcome.refusal(err, k.ended())
}

// again implements [looped]: it plans the next attempt.
func (k *call) again() bool {
	k.plan = retry.Plan{}
	if k.refused != nil || k.last == nil || k.last.succeeded() || k.ended() != nil {
		return false
	}
	if k.plan = k.last.plan(); k.plan.Costs && k.plan.Again && !k.core.retries.Take() {
		k.plan = retry.Plan{}
	}
	return k.plan.Again
}
