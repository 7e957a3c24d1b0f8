package petstore

import (
	"context"
	"time"
)

// Call describes the API call that a request belongs to. A transport, a [Limiter], the function of
// [WithAPIKeyFunc] and a [ClientTrace] get it with [CallFromContext]. It contains nothing secret,
// and Call values can be compared with ==.
type Call struct {
	// ID is a random number, the same for all requests of the call. The log shows it as call_id, in
	// hexadecimal digits.
	ID uint64
	// BaseURL is the base URL of the client, without a trailing slash.
	BaseURL string
	// Operation is the operationId of the document, such as listPets (section 4).
	Operation string
	// Method is the HTTP method.
	Method string
	// Template is the path of the request with names of parameters instead of values:
	// /v1/pets/{petId}.
	Template string
	// Attempt is the number of the request within the call, starting at 1; 0 before the first.
	Attempt int
	// Waited is the time that the call has waited for the rate limit so far.
	Waited time.Duration
	// KeyID identifies the API key within this process, as a hash with a salt of the process. Two
	// clients with the same key have the same KeyID. It is empty before the key is known.
	KeyID string
	// KeyRefused reports whether the service answered the call's last request with 401, for the
	// function of [WithAPIKeyFunc].
	KeyRefused bool
	// Background reports whether the call is background work; see [WithBackground].
	Background bool
}

// CallFromContext returns the call of a request; ctx is the request's context. It returns false if
// the request was not made by a [Client]. A request that the function of [WithAPIKeyFunc] makes
// with its context belongs to the call as well. CallFromContext is safe for concurrent use, also
// after the end of the call.
func CallFromContext(ctx context.Context) (Call, bool) {
	if found := callOf(ctx); found != nil {
		return found.describe(), true
	}
	return Call{}, false
}

// contextCall is a call as its context has it.
type contextCall interface {
	describe() Call
	startWait(w Wait) (done func(free time.Duration))
	queueTickets() *tickets
}

// callOf returns the call of ctx; nil if there is none.
func callOf(ctx context.Context) contextCall {
	found, _ := ctx.Value(callKey{}).(contextCall)
	return found
}

// callKey is the context's key for a contextCall.
type callKey struct{}

// callContext is the caller's context; its Value also finds the call.
type callContext struct {
	context.Context
	call contextCall
}

// Value implements [context.Context].
func (c *callContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return c.call
	}
	return c.Context.Value(key)
}
