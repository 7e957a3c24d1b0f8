package petstore

import (
	"context"
	"sync/atomic"
	"time"
)

// WaitReason says what a call waits for. The reasons that are limits have the words of [LimitScope].
type WaitReason string

// The reasons to wait.
const (
	WaitMinute     = WaitReason(ScopeMinute) // the minute's window is used up, or closed by a 429
	WaitDay        = WaitReason(ScopeDay)    // the day's window is used up
	WaitBan        = WaitReason(ScopeBan)    // the key is banned
	WaitResponse   = WaitReason("response")  // the response of the request that went ahead
	WaitBackground = WaitReason("background")
	WaitBackoff    = WaitReason("backoff")     // the backoff after a failed attempt
	WaitRetryAfter = WaitReason("retry_after") // what a 429 or 503 asked for, by a limit that is not known
)

// Wait is a wait of a call before one of its requests.
type Wait struct {
	// Reason is what the call waits for. That may change while it waits.
	Reason WaitReason
	// Until is when the wait ends, by the local clock; zero if only a response can tell.
	Until time.Time
	// Waiting is the number of calls in the queue, this one included.
	Waiting int
}

// StartWait reports that the call of ctx begins to wait for the rate limit: the client's log and its [ClientTrace]
// get it. A [Limiter] calls it in Acquire, and calls done once when the wait is over, however it ended. It must not
// hold a lock then: both run code of the user's. free is how much of the wait was for the response of a request
// that went ahead; [WithMaxWait] does not count it.
//
// Without a call in ctx, StartWait and done do nothing.
func StartWait(ctx context.Context, w Wait) (done func(free time.Duration)) {
	k := callOf(ctx)
	if k == nil {
		return func(time.Duration) {}
	}
	return k.startWait(w)
}

// startWait reports the begin of w, and returns what reports its end.
func (k *call) startWait(w Wait) func(free time.Duration) {
	begun := time.Now()
	k.client.waiting.Add(1)
	start := WaitStartInfo{k.describe(), w}
	for _, t := range k.client.traces {
		if t.WaitStart != nil {
			t.WaitStart(k.ctx.Context, start)
		}
	}
	var ended atomic.Bool
	return func(free time.Duration) {
		if ended.Swap(true) {
			return
		}
		k.client.waiting.Add(-1)
		k.free.Add(int64(max(0, free)))
		info := WaitDoneInfo{k.describe(), w, time.Since(begun)}
		for _, t := range k.client.traces {
			if t.WaitDone != nil {
				t.WaitDone(k.ctx.Context, info)
			}
		}
	}
}

// callOf returns the call of ctx, nil if there is none.
func callOf(ctx context.Context) *call {
	switch found := ctx.Value(callKey{}).(type) {
	case *call:
		return found
	case *attempt:
		return found.context.call
	}
	return nil
}
