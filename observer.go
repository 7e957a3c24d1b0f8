package petstore

import (
	"context"
	"net/http"
	"time"
)

// Call is a call of an operation, as those on its requests' way see it: a transport, a [Limiter], the function
// of [WithAPIKeyFunc]. It holds nothing secret.
type Call struct {
	// Client is whose call it is.
	Client *Client
	// Operation is the operationId of the document: listPets, createPet or getPet (section 4).
	Operation string
	// Method is the HTTP method.
	Method string
	// Template is the path of the request with the names of its parameters for their values:
	// /v1/pets/{petId}.
	Template string
	// Attempt is the number of the request within the call, from 1; 0 before there is one.
	Attempt int
	// Waited is how long the call has waited for the rate limit so far.
	Waited time.Duration
}

// CallFromContext returns the call that a request belongs to, ctx being the request's context, and false if no
// [Client] made the request. A request that the function of [WithAPIKeyFunc] makes with the context it is given
// belongs to the call as well.
func CallFromContext(ctx context.Context) (Call, bool) {
	k, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return Call{}, false
	}
	return k.describe(), true
}

// CallObserver is a transport that also wants to know of whole calls, as the one that draws a span around
// each of them. The [Client] looks for it in the Transport of [WithHTTPClient].
type CallObserver interface {
	http.RoundTripper
	// CallStarted is called before anything is done for a call, on the caller's goroutine. The
	// context that it returns, ctx or one made from it, is that of the call and its requests. The function
	// that it returns, unless it is nil, is called once, with the error of the call, when that
	// is over.
	CallStarted(ctx context.Context, c Call) (context.Context, func(error))
}

func (k *call) describe() Call {
	return Call{
		Client:    k.client,
		Operation: k.operation.name,
		Method:    k.operation.method,
		Template:  k.client.petsURL.Path + k.operation.template,
		Attempt:   k.attempts,
		Waited:    k.waited,
	}
}

// observe tells the client's transport of the call, and returns what is to be called at its end.
func (k *call) observe() func(error) {
	if k.client.observer == nil {
		return func(error) {}
	}
	ctx, done := k.client.observer.CallStarted(k.Context, k.describe())
	if ctx != nil {
		k.Context = ctx
	}
	if done == nil {
		return func(error) {}
	}
	return done
}
