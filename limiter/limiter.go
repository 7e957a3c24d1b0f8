// Package limiter helps to write a [petstore.Limiter] of one's own. A program that only uses
// limiters does not need it: [petstore.NewLimiter] is in package petstore, and the module
// petstoreredis has a limiter that several processes share.
//
// Often a Limiter around the one of [petstore.NewLimiter] is enough, as in the example. A limiter
// with its own queue should
//
//   - take the number of each call with [Ticket], so that a retried call keeps its place;
//   - report waits with [StartWait], so that log, traces and [petstore.WithMaxWait] know them;
//   - find the key of a request with [petstore.CallFromContext];
//   - implement [Reopener], if it closes a key after a 429.
package limiter

import (
	"context"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/incall"
)

// Reopener is a [petstore.Limiter] that can admit a request although the key is closed;
// [petstore.Client.Reopen] uses it. A Limiter around another one should have a method Unwrap()
// petstore.Limiter that returns that one: Client.Reopen then finds its Reopen.
type Reopener interface {
	// Reopen admits the next request although the key is closed; its response decides whether the
	// key stays closed. keyID is a [petstore.Call].KeyID; empty means all keys. Reopen does not
	// block and sends nothing by itself. It has no effect on an open key.
	//
	// A program may call Reopen on each refusal. If the service rejects the admitted request, the
	// next Reopen takes effect one minute after that, the one after it 2 minutes later, then 4, 8
	// and 16, until a request succeeds: each such request may prolong a ban (section 8.3).
	Reopen(keyID string)
}

// call is the call of a context.
type call interface {
	StartWait(w petstore.Wait) (done func(free time.Duration))
	Tickets() *incall.Tickets
}

func callOf(ctx context.Context) call {
	found, _ := ctx.Value(incall.Key{}).(call)
	return found
}

// StartWait reports to the client's log and its [petstore.ClientTrace] that a call begins to wait
// for the rate limit. ctx is the context of the call. A Limiter calls StartWait in Acquire, and
// calls done once at the end of the wait, also if the wait failed. It must not hold a lock during
// these two calls, because they run functions of the user. free is the part of the wait for the
// response of another request; [petstore.WithMaxWait] does not count it.
//
// If ctx has no call, StartWait and done have no effect.
func StartWait(ctx context.Context, w petstore.Wait) (done func(free time.Duration)) {
	if found := callOf(ctx); found != nil {
		return found.StartWait(w)
	}
	return func(time.Duration) {}
}

// Ticket returns the number of a call in the queue of l; ctx is the context of the call. The first
// time for a call and l it calls issue for a new number; later it returns the same number, so that
// a call keeps its place in the queue over its retries. Each limiter has its own tickets. l must be
// comparable, as pointers are. If ctx has no call, Ticket returns issue().
//
// A Limiter uses Ticket in Acquire to serve callers in the order of their arrival. It may call
// Ticket at any time during Acquire, also from several goroutines. issue is called with a lock of
// the call held, so it must not call Ticket.
func Ticket(ctx context.Context, l petstore.Limiter, issue func() uint64) uint64 {
	if found := callOf(ctx); found != nil {
		return found.Tickets().Of(l, issue)
	}
	return issue()
}
