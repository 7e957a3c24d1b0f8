package ratelimit

import (
	"context"
	"maps"
	"sync"
	"time"
)

// manyKeys is the number of keys from which on a limiter drops those of which it knows nothing
// useful: a key that rotates each hour would fill the memory over years.
const manyKeys = 64

// Limiter keeps the requests of one process within the limits of its API keys, which it learns from
// the responses. Most callers should use one Limiter in the whole process. The zero Limiter is not
// usable: make one with [New]. It is safe for concurrent use.
//
// A request waits while the window is used up, while the key is closed after a 429, and while
// another request must get its response first: the first for the key or after a 429, or as many as
// may be in flight while others may use the key. Requests are admitted in the order of their
// arrival, those in the background last.
type Limiter struct {
	mu        sync.Mutex
	processes int
	keys      map[string]*queue
	sweepAt   int // number of keys at which to look for idle ones
	now       func() time.Time
}

// Option configures a [Limiter] in [New].
type Option func(*Limiter)

// Processes sets the number of processes that use each key, including this one, each with its own
// limiter. By default, and if n is not positive, the limiter infers from the responses whether
// others use the key; if eight processes start together, some of them learn that too late.
func Processes(n int) Option {
	return func(l *Limiter) { l.processes = max(0, n) }
}

// New returns a limiter for one process.
func New(opts ...Option) *Limiter {
	l := &Limiter{keys: make(map[string]*queue), now: time.Now}
	for _, opt := range opts {
		opt(l)
	}
	return l
}

// Request describes the request that [Limiter.Acquire] is asked for. The zero Request is refused if
// it would have to wait for a limit.
type Request struct {
	// Key identifies the API key, and is not the key itself. Each key has a budget of its own.
	Key string
	// Background requests are admitted after all others. They leave a tenth of each window to them,
	// if there were any in the last two minutes.
	Background bool
	// MaxWait is the longest wait. A request is refused at once if a known limit or its NotBefore
	// lasts longer, and when it has been in Acquire for MaxWait and one second more, whatever it waits
	// for.
	MaxWait time.Duration
	// Asked is when the caller asked first, so that a request that is tried again keeps its place
	// in the queue; zero stands for now.
	Asked time.Time
	// NotBefore is the earliest time of the request, such as the end of a backoff; zero is now.
	NotBefore time.Time
	// Observer is told what the limiter decides; nil for none.
	Observer Observer
}

// Permit allows one request to be sent.
type Permit interface {
	// Release ends the permit, reports the outcome of the request, and returns the lockout of its key,
	// zero if the key is open. It must be called once, as soon as the header of the response has
	// arrived; a second call has no effect.
	//
	// A permit that is never released counts as a request in flight for ever: each window then has
	// room for one request less. If it was the first for the key, others wait for it for a second; if
	// it was the first after a 429, for ten.
	Release(o Outcome) Lockout
}

// permit is the [Permit] of one request. The lock of the limiter guards it.
type permit struct {
	snapshot
	queue    *queue
	observer Observer
	// budget admitted the request: after the clock is set back, the queue has another one. It is nil
	// once the permit is released.
	budget *budget
}

// Acquire waits for a permit. It returns an [*Error] immediately if a known limit lasts longer than
// r.MaxWait or the deadline of ctx allow. It also returns one if ctx ends during the wait, or when
// the wait has taken r.MaxWait and one second more. With an error there is no permit.
func (l *Limiter) Acquire(ctx context.Context, r Request) (Permit, error) {
	p, w := l.permitOrWaiter(ctx, &r)
	if p != nil {
		return p, nil
	}
	if w.refused == nil {
		w.waitForDecision(ctx)
	}
	if w.refused == nil {
		return w.permit, nil
	}
	w.report.to(w.Observer)
	return nil, w.refused
}

// permitOrWaiter returns a permit, or else a waiter, which may be refused already. While other
// requests wait, it does not ask the budget, so that the request cannot overtake them.
func (l *Limiter) permitOrWaiter(ctx context.Context, r *Request) (*permit, *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queueOf(r.Key)
	now := q.clock()
	ended := ctx.Err() != nil
	first := len(q.waiters) == 0 || !r.Background && q.waiters[0].Background
	if first && !ended && !r.NotBefore.After(now) {
		if p := q.permitFor(now, r); p != nil {
			return p, nil
		}
	}
	w := q.newWaiter(ctx, now, r)
	if ended {
		w.refuse(now, 0, contextError(ctx))
	} else if !w.refuseIfLate(now, q.place(w)) {
		q.waiting++
		w.wait = w.describe(now)
	}
	return nil, w
}

// Release implements [Permit]. It reports without the lock: an observer may use the limiter.
func (p *permit) Release(o Outcome) (lockout Lockout) {
	var change report
	q := p.queue
	q.limiter.mu.Lock()
	now := q.clock()
	if p.budget != nil {
		p.budget.record(&p.snapshot, &o, now)
		p.budget = nil
		change = q.reportOf(p.admitted, &o, now)
		q.dispatch(now)
	}
	if q.budget.closedUntil.After(now) {
		lockout = q.lockout(q.budget.closedBy, q.budget.closedUntil)
	}
	q.limiter.mu.Unlock()
	change.to(p.observer)
	return lockout
}

// queueOf returns the queue of a key, a new one for a new key. Once there are many keys, it drops
// those without useful knowledge, and again when there are twice as many as it kept: then a new key
// costs little, however many there are.
func (l *Limiter) queueOf(key string) *queue {
	if q := l.keys[key]; q != nil {
		return q
	}
	if len(l.keys) >= max(manyKeys, l.sweepAt) {
		maps.DeleteFunc(l.keys, func(_ string, q *queue) bool {
			return q.waiting+len(q.budget.inFlight) == 0 && !q.budget.ends().After(l.now())
		})
		l.sweepAt = 2 * len(l.keys)
	}
	q := &queue{limiter: l, budget: &budget{processes: l.processes}}
	l.keys[key] = q
	return q
}

// RateLimit returns the last known window of a key; zero before the first response.
func (l *Limiter) RateLimit(key string) Window {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queueOf(key).budget.known()
}

// Reopen lets one request of a key go ahead although the key is closed, for instance after a ban
// was lifted or a higher plan was bought. It sends nothing, and has no effect on an open key.
func (l *Limiter) Reopen(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queueOf(key)
	now := q.clock()
	q.budget.reopen(now)
	q.reported.Until = now
	q.dispatch(now)
}
