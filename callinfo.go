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
	if found, ok := ctx.Value(callKey{}).(interface{ describe() Call }); ok {
		return found.describe(), true
	}
	return Call{}, false
}

// callKey is the context's key for a call.
type callKey struct{}

// Wait describes the wait of a call before one of its requests. It is the argument of
// [ClientTrace].WaitStart and WaitDone.
type Wait struct {
	// Call is the call that waits. A [Limiter] need not set it.
	Call Call
	// Reason is the reason at the start of the wait; it may change during the wait.
	Reason WaitReason
	// Until is the expected end of the wait, by the local clock; zero if it depends on a response.
	Until time.Time
	// Waiting is the number of calls in the queue, including this one.
	Waiting int
	// Duration is the length of the wait in WaitDone; 0 in WaitStart.
	Duration time.Duration
}

// WaitReason is what a call waits for. A [Limiter] may have reasons of its own.
type WaitReason string

// The reasons of the client and of its own limiter.
const (
	WaitMinute     WaitReason = "minute"      // the minute's window is used up, or a 429 closed it
	WaitDay        WaitReason = "day"         // the day's window is used up, or a 429 closed it
	WaitBan        WaitReason = "ban"         // the key seems to be banned
	WaitResponse   WaitReason = "response"    // another request must get its response first
	WaitBackground WaitReason = "background"  // the window is used up, except for the reserve
	WaitBackoff    WaitReason = "backoff"     // the pause after a failed attempt
	WaitRetryAfter WaitReason = "retry_after" // the Retry-After of a 429 or 503; no limit is known
)
