package petstore

import (
	"context"
	"sync/atomic"
	"time"
)

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
	k := callOf(ctx)
	if k == nil {
		return func(time.Duration) {}
	}
	return k.startWait(w)
}

// startWait calls the WaitStart functions, and returns the function that calls the WaitDone
// functions.
func (k *call) startWait(w Wait) (done func(free time.Duration)) {
	begun := time.Now()
	if !k.waits.Swap(true) {
		k.client.waiting.Add(1)
	}
	var ended atomic.Bool
	end := func(free time.Duration) {
		if ended.Swap(true) {
			return
		}
		k.stopWaiting()
		k.free.Add(int64(max(0, free)))
		info := WaitDoneInfo{k.describe(), w, time.Since(begun)}
		trace(k.ctx.Context, k, info, func(t *ClientTrace) func(context.Context, WaitDoneInfo) { return t.WaitDone })
	}
	defer func() {
		if done == nil {
			end(0) // a WaitStart panicked
		}
	}()
	start := WaitStartInfo{k.describe(), w}
	trace(k.ctx.Context, k, start, func(t *ClientTrace) func(context.Context, WaitStartInfo) { return t.WaitStart })
	return end
}

// stopWaiting ends the wait of the call in LimitInfo.Waiting.
func (k *call) stopWaiting() {
	if k.waits.Swap(false) {
		k.client.waiting.Add(-1)
	}
}

// callOf returns the call of ctx; nil if there is none.
func callOf(ctx context.Context) *call {
	switch found := ctx.Value(callKey{}).(type) {
	case *call:
		return found
	case *attempt:
		return found.call
	}
	return nil
}
