package petstore

import (
	"context"
	"sync"
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

// WaitReason is the reason why a call waits. If a limit is the reason, the value is its
// [LimitScope].
type WaitReason string

// The reasons to wait, beside each LimitScope.
const (
	WaitResponse   = WaitReason("response")    // another request must get its response first
	WaitBackground = WaitReason("background")  // the window is used up, except for the reserve
	WaitBackoff    = WaitReason("backoff")     // the backoff after a failed attempt
	WaitRetryAfter = WaitReason("retry_after") // the Retry-After of a 429 or 503, if no limit is known
)

// Wait describes the wait of a call before one of its requests.
type Wait struct {
	// Reason is the reason at the start of the wait. It may change during the wait.
	Reason WaitReason
	// Until is the expected end of the wait, by the local clock; zero if it depends on a response.
	Until time.Time
	// Waiting is the number of calls in the queue, including this one.
	Waiting int
}

// StartWait reports to the client's log and its [ClientTrace] that a call begins to wait for the
// rate limit. ctx is the context of the call. A [Limiter] calls StartWait in Acquire, and calls
// done once at the end of the wait, also if the wait failed. It must not hold a lock during these
// two calls, because they run functions of the user. free is the part of the wait for the response
// of another request; [WithMaxWait] does not count it.
//
// If ctx has no call, StartWait and done have no effect.
func StartWait(ctx context.Context, w Wait) (done func(free time.Duration)) {
	if found := callOf(ctx); found != nil {
		return found.startWait(w)
	}
	return func(time.Duration) {}
}

// Ticket returns the number of a call in the queue of l; ctx is the context of the call. The first
// time for a call and l it calls issue for a new number; later it returns the same number, so that
// a call keeps its place in the queue over its retries. Each limiter has its own tickets. l must be
// comparable, as pointers are. If ctx has no call, Ticket returns issue().
//
// A [Limiter] uses Ticket in Acquire to serve callers in the order of their arrival. It may call
// Ticket at any time during Acquire, also from several goroutines. issue is called with a lock of
// the call held, so it must not call Ticket.
func Ticket(ctx context.Context, l Limiter, issue func() uint64) uint64 {
	if found := callOf(ctx); found != nil {
		return found.queueTickets().of(l, issue)
	}
	return issue()
}

// tickets has the numbers of one call.
type tickets struct {
	mu    sync.Mutex // a Limiter of the user may call Ticket from several goroutines
	first ticket     // of a linked list with one ticket for each limiter
}

// ticket is a call's number in the queue of one limiter.
type ticket struct {
	limiter Limiter
	number  uint64
	next    *ticket
}

// of returns the number for l.
func (t *tickets) of(l Limiter, issue func() uint64) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first.limiter == nil {
		t.first = ticket{l, issue(), nil}
	}
	for found := &t.first; ; found = found.next {
		if found.limiter == l {
			return found.number
		}
		if found.next == nil {
			found.next = &ticket{l, issue(), nil}
		}
	}
}
