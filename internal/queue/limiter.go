package queue

import (
	"context"
	"sync"
	"time"

	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/quota"
)

const (
	// manyKeys is the number of budgets from which on those without useful knowledge are dropped,
	// so that a key that rotates each hour does not fill the memory over years.
	manyKeys = 64
	// ForReserve is the reason of a background call that waits because only the reserve is left.
	ForReserve quota.Reason = "background"
)

// Limiter has a queue and a budget for each key, all under one lock.
type Limiter struct {
	mu     sync.Mutex
	budget quota.Budget // copied for each new key
	keys   map[string]*keyQueue
	last   *keyQueue // of the latest request
}

// NewLimiter returns a limiter whose keys begin with budget.
func NewLimiter(budget quota.Budget) *Limiter {
	return &Limiter{budget: budget, keys: make(map[string]*keyQueue)}
}

// Permit allows one request to be sent.
type Permit struct {
	queue    *keyQueue
	slot     quota.Slot
	released bool
}

// RateLimit returns the rate limit of a key; an empty keyID stands for the key of the latest request.
func (l *Limiter) RateLimit(keyID string) quota.RateLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.keys[keyID]
	if keyID == "" {
		q = l.last
	}
	if q == nil {
		return quota.RateLimit{}
	}
	return q.budget.RateLimit()
}

// Reopen lets one request go ahead although a key is closed; an empty keyID stands for all keys.
func (l *Limiter) Reopen(keyID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, q := range l.keys {
		if keyID == "" || keyID == id {
			now := time.Now()
			q.budget.Reopen(now)
			q.Dispatch(now)
		}
	}
}

// Acquire waits for a permit. Outside a call, KeyID is empty: the request then counts for the key of
// the latest request, or, before there was one, for the key of the first.
func (l *Limiter) Acquire(ctx context.Context, c Call) (*Permit, *Refusal) {
	q, p, w, refused := l.enter(ctx, c)
	if w == nil {
		return p, refused
	}
	return q.calls.Await(ctx, w)
}

// enter returns a permit, a waiter that has to report its wait, or a refusal.
func (l *Limiter) enter(ctx context.Context, c Call) (*keyQueue, *Permit, *Waiter[*Permit], *Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if c.KeyID == "" && l.last != nil {
		c.KeyID = l.last.id
	}
	q := l.queue(c.KeyID, now)
	if deadline.Err(ctx) != nil {
		return q, nil, nil, q.calls.Ended(now, false)
	}
	q.Dispatch(now)
	if q.calls.Passes(c.Background) {
		if p, ok := q.admit(now, c.Background); ok {
			return q, p, nil, nil
		}
	}
	w, refused := q.calls.NewWaiter(ctx, now, c)
	if refused == nil {
		q.calls.Tell(now, w, Wait{Reason: q.reason(c.Background), Until: q.why.Until})
	}
	return q, nil, w, refused
}

// queue returns the queue of a key.
func (l *Limiter) queue(keyID string, now time.Time) *keyQueue {
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
				if q.calls.Idle() && q.budget.Idle(now) {
					delete(l.keys, id)
				}
			}
		}
		q = &keyQueue{limiter: l, id: keyID, budget: l.budget}
		q.calls.Init(q, nil)
		l.keys[keyID] = q
	}
	l.last = q
	return q
}

// Release reports the outcome of the request. From the second call on it has no effect.
func (p *Permit) Release(o *quota.Observation) {
	q := p.queue
	q.Lock()
	defer q.Unlock()
	if p.released {
		return
	}
	p.released = true
	now := time.Now()
	q.budget.Settle(p.slot, o, now)
	q.Dispatch(now)
}
