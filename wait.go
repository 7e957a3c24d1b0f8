package petstore

import (
	"context"
	"sync"
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
