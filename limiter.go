package petstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

// NewLimiter returns a limiter for one process, as a [Client] makes for itself by default. It keeps a budget for
// each API key, and knows no plan: it learns the limits from the headers of the responses (section 8.2).
//
// A call waits for one of three things only: a window that is used up, a key that is closed by a 429, or, when
// nothing is known of the key or the last thing known is a 429, the response of the one request that went ahead.
// No more requests are on their way than the service has said to have room for. After a 429 nothing is sent
// before the latest of Retry-After and Reset. Without the headers, at most two requests are on their way at a time.
// Calls go in the order in which they came, background calls after all others; see [WithBackground].
//
// A limiter has no goroutine, and no timer while nobody waits. It is a [Reopener].
func NewLimiter(opts ...LimiterOption) Limiter {
	l := &limiter{keys: make(map[string]*keyQueue), budget: quota.Budget{Reserve: defaultReserve}}
	for _, opt := range opts {
		if opt != nil {
			opt.limiterOption(&l.budget)
		}
	}
	return l
}

// LimiterOption configures [NewLimiter].
type LimiterOption interface{ limiterOption(*quota.Budget) }

type limiterOption func(*quota.Budget)

func (o limiterOption) limiterOption(b *quota.Budget) { o(b) }

// Processes sets the number of processes that use each API key to n, this one included, each with such a limiter of
// its own. It then keeps fewer requests on their way, and leaves the last ones of a window to the others, from the
// first request on. With 1 the key is this process's alone. By default, and if n is not positive, the limiter infers
// from the responses whether others use the key, which eight processes that start together cannot do in time.
func Processes(n int) LimiterOption {
	return limiterOption(func(b *quota.Budget) { b.Processes = max(0, n) })
}

// BackgroundReserve is how much of each window background calls leave to the others, in percent from 0 to 90.
// The default is 10.
func BackgroundReserve(percent int) LimiterOption {
	return limiterOption(func(b *quota.Budget) { b.Reserve = min(max(0, percent), 90) })
}

const (
	// defaultReserve lets ten interactive calls of a hundred go at once while background work runs.
	defaultReserve = 10
	// manyKeys is how many budgets may be kept before those that know nothing any more are dropped, so that a
	// key that rotates each hour for years takes no memory.
	manyKeys = 64
)

// limiter is the budgets of a process, under one lock.
type limiter struct {
	mu      sync.Mutex
	budget  quota.Budget // of a new key
	keys    map[string]*keyQueue
	last    *keyQueue // the one that was asked last
	tickets uint64    // issued so far
}

var _ Reopener = (*limiter)(nil)

// permit allows one request to be sent.
type permit struct {
	queue    *keyQueue
	slot     quota.Slot
	own      bool // of a call, whose Observation is by the clock of this process
	released bool
}

// RateLimit implements [Limiter]: it is that of the key which was asked for last.
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
			q.budget.Reopen()
			q.dispatch(time.Now())
		}
	}
}

// Acquire implements [Limiter].
func (l *limiter) Acquire(ctx context.Context, maxWait time.Duration) (Permit, error) {
	p, w, err := l.enter(ctx, maxWait)
	switch {
	case err != nil:
		return nil, err
	case p != nil:
		return p, nil
	}
	done := w.report(ctx)
	defer func() { done(w.free) }()
	return w.await(ctx)
}

// enter returns a permit, a place in the queue, or an error.
func (l *limiter) enter(ctx context.Context, maxWait time.Duration) (*permit, *waiter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	call, own := CallFromContext(ctx)
	q := l.queue(call.KeyID, now)
	if end := endOf(ctx); end != nil {
		return nil, nil, q.ended(now, end, "before the request was sent")
	}
	ticket := Ticket(ctx, l, l.issue)
	q.dispatch(now)
	if q.passes(call.Background) {
		if slot, ok := q.admit(now, call.Background); ok {
			return &permit{queue: q, slot: slot, own: own}, nil, nil
		}
	}
	w := &waiter{
		queue: q, ticket: ticket, own: own, background: call.Background,
		maxWait: max(0, maxWait), entered: now, clock: q.clock(now),
	}
	w.deadline, _ = ctx.Deadline()
	if at := q.earliest(now, w, q.before(w)); w.late(now, at) {
		return nil, nil, q.refusal(now, at)
	}
	q.push(w)
	q.arm(now)
	return nil, w, nil
}

// queue returns that of a key.
func (l *limiter) queue(keyID string, now time.Time) *keyQueue {
	if l.last != nil && l.last.id == keyID {
		return l.last
	}
	q := l.keys[keyID]
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

// issue returns the next place in the order of all calls.
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
	now := o.Received // which saves a look at the clock, if nobody waits and nobody has looked since
	if !p.own || q.len() > 0 || now.Before(q.budget.Now()) {
		now = time.Now()
	}
	outcome := o.quota()
	q.budget.Settle(p.slot, &outcome, now)
	q.dispatch(now)
}

// ended is the error for a call whose context has ended.
func (q *keyQueue) ended(now time.Time, end error, when string) *RateLimitError {
	e := q.refusal(now, q.budget.Earliest(now, 0, false))
	e.Err = end
	if e.Scope == "" {
		e.Err = fmt.Errorf("%s: %w", when, end)
	}
	return e
}

// refusal is the error for a call that cannot go before at.
func (q *keyQueue) refusal(now, at time.Time) *RateLimitError {
	return &RateLimitError{
		RetryAt:   at,
		RateLimit: RateLimit(q.budget.RateLimit()),
		Scope:     LimitScope(q.budget.Scope(now, at)),
		Local:     true,
	}
}
