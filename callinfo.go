package petstore

import (
	"context"
	"time"
)

// Call describes the API call that a request belongs to, for what sees the context of the request: a transport, a
// [Limiter], the function of [WithAPIKeyFunc], a [ClientTrace]. It holds nothing secret, and can be compared.
type Call struct {
	// ID is a random number, the same for all requests of the call; the log has it as call_id.
	ID uint64
	// BaseURL is the base URL of the client, without a trailing slash.
	BaseURL string
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
	// KeyID identifies the API key within this process: a hash with a salt of the process, equal for two
	// clients with the same key. It is empty before the key is known.
	KeyID string
	// KeyRefused reports whether the service answered 401 to the call's last request, for the function of
	// [WithAPIKeyFunc].
	KeyRefused bool
	// Background reports whether the call is background work; see [WithBackground].
	Background bool
}

// CallFromContext returns the call that a request belongs to, ctx being the request's context, and false if no
// [Client] made the request. A request that the function of [WithAPIKeyFunc] makes with the context it is given
// belongs to the call as well. It is safe for concurrent use, also after the call has ended.
func CallFromContext(ctx context.Context) (Call, bool) {
	switch found := ctx.Value(callKey{}).(type) {
	case *call:
		return found.describe(), true
	case *attempt:
		return found.describe(), true
	}
	return Call{}, false
}

func (k *call) describe() Call {
	c := Call{
		ID:         k.id,
		KeyRefused: k.newKey.Load(),
		BaseURL:    k.client.base,
		Operation:  k.operation.name,
		Method:     k.operation.method,
		Template:   k.client.templates[k.operation.index],
		Attempt:    int(k.attempts.Load()),
		Waited:     time.Duration(k.waited.Load()),
		Background: k.config.background,
	}
	if id := k.keyID.Load(); id != nil {
		c.KeyID = *id
	}
	return c
}

// describe is the call as it was when a began: another attempt may have begun since.
func (a *attempt) describe() Call {
	c := a.context.call.describe()
	c.Attempt, c.Waited = a.number, a.waited
	if a.key.id != nil {
		c.KeyID = *a.key.id
	}
	return c
}
