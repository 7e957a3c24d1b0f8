package ratelimit

import (
	"context"
	"maps"
	"sync"
	"time"
)

// manyKeys is the number of keys at which a limiter begins to remove keys whose state no longer
// matters. Otherwise a program that gets a new key each hour would fill its memory over years.
const manyKeys = 64

// Limiter keeps the requests of one process within the limits of its API keys. It learns the limits
// from the responses. Most callers should use one Limiter in the whole process. The zero Limiter is
// not usable: make one with [New]. It is safe for concurrent use.
//
// A request waits while the window is used up, and while the key is closed after a 429. It also
// waits for the response to the first request for the key, to the first after a 429, and to the
// first after a window that was used up: for a second or, after a 429, for ten at most. If other
// processes may use the key, only a few requests may be in flight, and the next request waits for a
// response. The request that asked first is admitted first, but background requests go last.
type Limiter struct {
	mu        sync.Mutex
	processes int
	keys      map[string]*queue
	sweepAt   int // number of keys at which idle keys are removed again
	now       func() time.Time
}

// Option configures a [Limiter] in [New].
type Option func(*Limiter)

// Processes sets the number of processes that use each key, including this one. Each process has
// its own limiter. By default, and if n is not positive, the limiter infers from the responses
// whether others use the key. If eight processes start together, it may infer this too late.
func Processes(n int) Option {
	return func(l *Limiter) { l.processes = max(0, n) }
}

// New returns a limiter for one process. It skips options that are nil.
func New(opts ...Option) *Limiter {
	l := &Limiter{keys: make(map[string]*queue), now: time.Now}
	for _, opt := range opts {
		if opt != nil {
			opt(l)
		}
	}
	return l
}

// Request describes a request for which [Limiter.Acquire] returns a permit. The zero Request is
// refused if it would have to wait for a limit.
type Request struct {
	// Key is a name for the API key, not the secret itself. Each Key has a budget of its own.
	Key string
	// Background requests are admitted after all other requests. They leave a tenth of the limit to
	// the other requests, if Acquire was called for one of those in the last two minutes.
	Background bool
	// MaxWait is the longest wait. The request is refused at once if a known limit or its
	// NotBefore lasts longer. Whatever the request waits for, it is refused once it has been in
	// Acquire for MaxWait and one second.
	MaxWait time.Duration
	// Asked is when the caller first asked for this request; zero stands for now. If a request that
	// is tried again passes the time of the first try, it keeps its place in the queue.
	Asked time.Time
	// NotBefore is the earliest time of the request, such as the end of a backoff; zero: no limit.
	NotBefore time.Time
	// Observer gets the reports about this request and its key; nil if nobody needs them.
	Observer Observer

	noWait bool // for TryAcquire
}

// Permit allows one request to be sent.
type Permit interface {
	// Release ends the permit, reports the outcome of the request, and returns the lockout of its
	// key; zero if the key is open. It must be called once, as soon as the header of the response
	// has arrived; a second call has no effect.
	//
	// A permit that is never released counts as a request in flight for ever: each window then has
	// room for one request less. If its request was the first for the key, another request may go
	// after a second. If it was the first after a 429, another may go after ten seconds.
	Release(o Outcome) Lockout
}

// permit is the [Permit] of one request. The lock of the limiter guards it.
type permit struct {
	snapshot
	queue    *queue
	observer Observer
	// budget is the budget that admitted the request. The queue may have a new budget since then,
	// because the clock was set back. The field is nil once the permit is released.
	budget *budget
}

// Acquire waits for a permit. It returns an [*Error] immediately if a known limit lasts longer than
// r.MaxWait or the deadline of ctx allows. It also returns an [*Error] if ctx ends during the wait,
// or when the wait has taken r.MaxWait and one second more. With an error there is no permit.
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

// TryAcquire is like [Limiter.Acquire], but does not wait. If the request would have to wait, it
// returns an [*Error]. If the request would wait for the response to another request, and not for a
// limit, the Error has no Reason.
func (l *Limiter) TryAcquire(r Request) (Permit, error) {
	r.noWait = true
	return l.Acquire(context.Background(), r)
}

// permitOrWaiter returns a permit or, if the request has to wait, a waiter, which may be refused
// already. It asks the budget only if no other request must go first.
func (l *Limiter) permitOrWaiter(ctx context.Context, r *Request) (*permit, *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queueOf(r.Key)
	now := q.syncClock()
	ended := ctx.Err() != nil
	first := len(q.queued) == 0 || !r.Background && q.queued[0].Background
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
		w.wait = w.newWait(now)
	}
	return nil, w
}

// Release implements [Permit]. It calls the observer without the lock, so that the observer may use
// the limiter.
func (p *permit) Release(o Outcome) (lockout Lockout) {
	var change report
	q := p.queue
	q.limiter.mu.Lock()
	now := q.syncClock()
	if p.budget != nil {
		p.budget.settle(&p.snapshot, &o, now)
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

// queueOf returns the queue of a key, and makes one for a new key. When there are many keys, it
// removes those whose state no longer matters. It does so again when the number of keys has
// doubled, so that a new key costs little on average, however many keys there are.
func (l *Limiter) queueOf(key string) *queue {
	if q := l.keys[key]; q != nil {
		return q
	}
	if len(l.keys) >= max(manyKeys, l.sweepAt) {
		maps.DeleteFunc(l.keys, func(_ string, q *queue) bool {
			// For a day, a key that was closed stays, since its opening has to be reported.
			until := later(q.budget.ends(), q.reported.Until.Add(day))
			return q.waiting+len(q.budget.inFlight) == 0 && !until.After(l.now())
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
	if q := l.keys[key]; q != nil { // not queueOf, which would add the key
		return q.budget.known()
	}
	return Window{}
}

// Reopen lets one request of a closed key go ahead, for instance after a ban was lifted or a higher
// plan was bought. It sends nothing itself. It has no effect if no limit holds requests back.
func (l *Limiter) Reopen(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queueOf(key)
	now := q.syncClock()
	q.budget.reopen(now)
	q.reported.Until = now
	q.dispatch(now)
}
