package queue

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/quota"
)

// manyKeys is the number of keys above which those without useful knowledge are dropped, so that a
// key that rotates each hour does not fill the memory over years.
const manyKeys = 64

// Limiter has a queue and a budget for each key, all under one lock.
type Limiter struct {
	mu      sync.Mutex
	budget  quota.Budget // copied for each new key
	keys    map[string]*queue
	last    *queue // of the latest request
	sweepAt int    // number of keys at which to look for idle ones
}

// NewLimiter returns a limiter whose keys begin with budget.
func NewLimiter(budget quota.Budget) *Limiter {
	return &Limiter{budget: budget, keys: make(map[string]*queue)}
}

// Permit allows one request to be sent.
type Permit struct {
	queue    *queue
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
			q.dispatch(now)
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
	return q.await(ctx, w)
}

// enter returns a permit, a waiter that has to report its wait, or a refusal.
func (l *Limiter) enter(ctx context.Context, c Call) (*queue, *Permit, *waiter, *Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if c.KeyID == "" && l.last != nil {
		c.KeyID = l.last.id
	}
	q := l.queue(c.KeyID, now)
	if deadline.Err(ctx) != nil {
		return q, nil, nil, q.ended(now, false)
	}
	q.dispatch(now)
	if q.passes(c.Background) {
		if p, ok := q.admit(now, c.Background); ok {
			return q, p, nil, nil
		}
	}
	w, refused := q.newWaiter(ctx, now, c)
	return q, nil, w, refused
}

// queue returns the queue of a key.
func (l *Limiter) queue(keyID string, now time.Time) *queue {
	q := l.keys[keyID]
	if first := l.keys[""]; q == nil && first != nil { // of an Acquire outside a call, before any key was known
		delete(l.keys, "")
		q, first.id = first, keyID
		l.keys[keyID] = q
	}
	if q == nil {
		l.dropIdle(now)
		q = &queue{limiter: l, id: keyID, budget: l.budget}
		l.keys[keyID] = q
	}
	l.last = q
	return q
}

// dropIdle drops the queues of keys without useful knowledge once there are many. It looks again
// when there are twice as many keys as it kept: then a new key costs little, however many there
// are.
func (l *Limiter) dropIdle(now time.Time) {
	if len(l.keys) < max(manyKeys, l.sweepAt) {
		return
	}
	maps.DeleteFunc(l.keys, func(_ string, q *queue) bool {
		return q.length() == 0 && q.budget.InFlight() == 0 && quota.Passed(now, q.budget.Ends())
	})
	l.sweepAt = 2 * len(l.keys)
}

// Release reports the outcome of the request. From the second call on it has no effect.
func (p *Permit) Release(o *quota.Observation) {
	q := p.queue
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	if p.released {
		return
	}
	p.released = true
	now := time.Now()
	q.budget.Settle(p.slot, o, now)
	q.dispatch(now)
}
