package petstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

// NewLimiter returns a limiter for one process. It is the default of a [Client]. It keeps a budget
// for each API key. It need not know the plan: it learns the limits from the headers of the
// responses (section 8.2).
//
// A call waits only in these cases: the window is used up; a 429 has closed the key; the first
// request for the key, or the first after a 429, has no response yet; or other processes may use
// the key, and as many requests are in flight as are safe then. Each response that shows nobody
// else allows more: a process that is alone loses at most three round trips. There are never more
// requests in flight than the service has room for by its latest responses. After a 429 the limiter
// admits nothing before Retry-After has passed nor, if the 429 used up its window, before Reset.
// Without the rate limit headers it admits at most two requests at a time, and one after the first
// 429. Calls are served in the order of their arrival, background calls after all others; see
// [WithBackground].
//
// If Acquire gets a context without a call, the request counts for the key of the latest request,
// or, before there was one, for the key of the first.
//
// A limiter has no goroutine, and no timer unless a call waits. It implements [Reopener].
func NewLimiter(opts ...LimiterOption) Limiter {
	l := &limiter{keys: make(map[string]*keyQueue), budget: quota.Budget{Reserve: defaultReserve}}
	for _, opt := range opts {
		if opt != nil {
			opt.limiterOption(&l.budget)
		}
	}
	return l
}

// LimiterOption configures [NewLimiter]. It is a value like [Option].
type LimiterOption interface {
	fmt.Stringer
	limiterOption(*quota.Budget)
}

// limiterOption sets one number of a budget.
type limiterOption struct {
	option[quota.Budget, int]
}

func (o limiterOption) limiterOption(b *quota.Budget) { _ = o.kind.apply(b, o.value) }

// Processes sets the number of processes that use each API key, including this one, each with its
// own limiter. From the first request on, the limiter then has fewer requests in flight, and leaves
// the last requests of a window to the others. With 1, only this process uses the key. By default,
// and if n is not positive, the limiter infers from the responses whether others use the key; if
// eight processes start together, that is too late for some of them.
func Processes(n int) LimiterOption {
	return limiterOption{option[quota.Budget, int]{processesKind, n}}
}

var processesKind = &optionKind[quota.Budget, int]{name: "Processes", apply: func(b *quota.Budget, n int) error {
	b.Processes = max(0, n)
	return nil
}}

// BackgroundReserve sets the part of each window that background calls leave to other calls, in
// percent from 0 to 90. The default is 10.
func BackgroundReserve(percent int) LimiterOption {
	return limiterOption{option[quota.Budget, int]{reserveKind, percent}}
}

var reserveKind = &optionKind[quota.Budget, int]{name: "BackgroundReserve", apply: func(b *quota.Budget, n int) error {
	b.Reserve = min(max(0, n), 90)
	return nil
}}

const (
	// defaultReserve is the default of BackgroundReserve in percent: of a window of 100 requests,
	// 10 stay free for calls that should not wait while background work runs.
	defaultReserve = 10
	// manyKeys is the number of budgets from which on those without useful knowledge are dropped,
	// so that a key that rotates each hour does not fill the memory over years.
	manyKeys = 64
)

// limiter has a queue and a budget for each key, all under one lock.
type limiter struct {
	mu      sync.Mutex
	budget  quota.Budget // copied for each new key
	keys    map[string]*keyQueue
	last    *keyQueue // of the latest request
	tickets uint64    // number of tickets issued
}

var _ Reopener = (*limiter)(nil)

// permit allows one request to be sent.
type permit struct {
	queue    *keyQueue
	slot     quota.Slot
	released bool
}

// RateLimit implements [Limiter]. It returns the rate limit of the key that was used last.
func (l *limiter) RateLimit() RateLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		return RateLimit{}
	}
	return RateLimit(l.last.budget.RateLimit())
}

// Reopen implements [Reopener].
func (l *limiter) Reopen(keyID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, q := range l.keys {
		if keyID == "" || keyID == id {
			now := time.Now()
			q.budget.Reopen(now)
			q.dispatch(now)
		}
	}
}

// Acquire implements [Limiter].
func (l *limiter) Acquire(ctx context.Context, maxWait time.Duration) (Permit, error) {
	p, w, err := l.enter(ctx, maxWait, nil)
	switch {
	case err != nil:
		return nil, err
	case p != nil:
		return p, nil
	}
	// The call has no place in the queue yet: StartWait runs functions of the user, which may panic,
	// or make a call that would wait for the response to this one.
	done := StartWait(ctx, w.wait)
	if p, _, err = l.enter(ctx, maxWait, w); p == nil && err == nil {
		p, err = w.await(ctx)
	}
	reported := false
	defer func() {
		if !reported && p != nil {
			p.Release(Observation{})
		}
	}()
	done(w.free)
	reported = true
	if err != nil {
		return nil, err
	}
	return p, nil
}

// enter returns a permit, a waiter, or an error. With nil for w the waiter is a new one, whose wait
// must be reported first; else it is w, in the queue.
func (l *limiter) enter(ctx context.Context, maxWait time.Duration, w *waiter) (*permit, *waiter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	call, _ := CallFromContext(ctx)
	if call.KeyID == "" && l.last != nil {
		call.KeyID = l.last.id // Acquire outside a call
	}
	q := l.queue(call.KeyID, now)
	if end := endOf(ctx); end != nil {
		return nil, nil, q.ended(now, end, w != nil)
	}
	ticket := Ticket(ctx, l, l.issue)
	q.dispatch(now)
	if q.passes(call.Background) {
		if slot, ok := q.admit(now, call.Background); ok {
			return &permit{queue: q, slot: slot}, nil, nil
		}
	}
	reported := w != nil
	if !reported {
		w = &waiter{
			queue: q, ticket: ticket, background: call.Background,
			maxWait: max(0, maxWait), entered: now, clock: q.clock(now),
		}
		w.deadline, _ = ctx.Deadline()
		w.wait = Wait{Reason: w.reason(), Until: q.why.Until, Waiting: q.len() + 1}
	}
	if at := q.earliest(now, w, q.before(w)); w.late(now, at) {
		return nil, nil, q.refusal(now, at)
	}
	if reported {
		w.queue = q
		q.push(w)
		q.arm(now)
	}
	return nil, w, nil
}

// queue returns the queue of a key.
func (l *limiter) queue(keyID string, now time.Time) *keyQueue {
	if l.last != nil && l.last.id == keyID {
		return l.last
	}
	q := l.keys[keyID]
	if first := l.keys[""]; q == nil && first != nil { // of an Acquire outside a call, before any key was known
		delete(l.keys, "")
		q, first.id = first, keyID
		l.keys[keyID] = q
	}
	if q == nil {
		if len(l.keys) >= manyKeys {
			for id, q := range l.keys {
				if q.len() == 0 && q.budget.Idle(now) {
					delete(l.keys, id)
				}
			}
		}
		q = &keyQueue{limiter: l, id: keyID, budget: l.budget}
		l.keys[keyID] = q
	}
	l.last = q
	return q
}

// issue returns the next ticket.
func (l *limiter) issue() uint64 {
	l.tickets++
	return l.tickets
}

// Release implements [Permit].
func (p *permit) Release(o Observation) {
	q := p.queue
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	if p.released {
		return
	}
	p.released = true
	now, outcome := time.Now(), o.quota()
	q.budget.Settle(p.slot, &outcome, now)
	q.dispatch(now)
}

// ended returns the error for a call whose context has ended. waited is whether that was in the
// queue.
func (q *keyQueue) ended(now time.Time, end error, waited bool) *RateLimitError {
	e := q.refusal(now, q.budget.Earliest(now, 0, false))
	e.Err = end
	if e.Scope != "" {
		return e
	}
	e.RetryAt = time.Time{} // a response decides
	switch inFlight := q.budget.InFlight(); {
	case !waited:
		e.Err = fmt.Errorf("before the request was sent: %w", end)
	case e.RateLimit.IsZero():
		e.Err = fmt.Errorf("while waiting for a response, with %d in flight: %w", inFlight, end)
	default:
		e.Err = fmt.Errorf("while waiting for a response, with %d in flight and %d left: %w",
			inFlight, max(0, e.RateLimit.Remaining-inFlight), end)
	}
	return e
}

// refusal returns the error for a call that cannot be admitted before at.
func (q *keyQueue) refusal(now, at time.Time) *RateLimitError {
	return &RateLimitError{
		RetryAt:   at,
		RateLimit: RateLimit(q.budget.RateLimit()),
		Scope:     LimitScope(q.budget.Scope(now, at)),
		Local:     true,
	}
}
