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

// ticket is a call's number in the queue of one limiter.
type ticket struct {
	limiter Limiter
	number  uint64
	next    *ticket // for another limiter
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
	k := callOf(ctx)
	if k == nil {
		return issue()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ticket.limiter == nil {
		k.ticket = ticket{l, issue(), nil}
	}
	for t := &k.ticket; ; t = t.next {
		if t.limiter == l {
			return t.number
		}
		if t.next == nil {
			t.next = &ticket{l, issue(), nil}
		}
	}
}
