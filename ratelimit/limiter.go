package ratelimit

import (
	"context"
	"maps"
	"sync"
	"time"
)

// manyKeys: once a limiter has this many keys, it drops those of which it knows nothing useful.
// Otherwise a key that rotates each hour would fill the memory over years.
const manyKeys = 64

// Limiter keeps the requests of one process within the limits of its API keys. It has a budget for
// each key, and learns the limits from the responses, so that it need not know the plan. The zero
// Limiter is not usable: make one with [New].
//
// Most callers should use one Limiter in the whole process: Acquire before each request, and
// Release as soon as the header of its response is there. It is safe for concurrent use, and starts
// no goroutine, except with [Shared].
//
// A request waits only in these cases: the window is used up; a 429 has closed the key; the first
// request for the key, or the first after a 429, has no response yet; or other processes may use
// the key, and as many requests are in flight as are safe then. Each response that shows no other
// process raises that number, so that a burst of a process that is alone takes at most three round
// trips longer. There are never more requests in flight than the server has room for by its latest
// responses. After a 429 nothing is admitted before Retry-After has passed nor, if the 429 used up
// its window, before Reset. Without the rate limit headers at most two requests are in flight, and
// one after the first 429. Requests are admitted in the order of their arrival, background requests
// last.
type Limiter struct {
	mu      sync.Mutex
	budget  budget // copied for each new key
	keys    map[string]*queue
	sweepAt int // number of keys at which to look for idle ones
	now     func() time.Time

	// exchange asks the pot of Shared; nil without Shared.
	exchange func(ctx context.Context, x *Exchange) error
}

// Option configures a [Limiter] in [New].
type Option func(*Limiter)

// Processes sets the number of processes that use each key, including this one, each with its own
// limiter. The limiter then has fewer requests in flight, and leaves the last requests of a window
// to the others. By default, and if n is not positive, it infers from the responses whether others
// use the key; if eight processes start together, some of them learn that too late.
func Processes(n int) Option {
	return func(l *Limiter) { l.budget.processes = max(0, n) }
}

// New returns a limiter for one process.
func New(opts ...Option) *Limiter {
	l := &Limiter{keys: make(map[string]*queue), now: wallClock}
	for _, opt := range opts {
		if opt != nil {
			opt(l)
		}
	}
	return l
}

// Request describes the request that [Limiter.Acquire] is asked for. The zero Request is refused if
// it would have to wait for a limit.
type Request struct {
	// Key identifies the API key, and is not the key itself. Each key has a budget of its own.
	Key string
	// Background requests are admitted after all others, and leave a tenth of each window to them.
	Background bool
	// MaxWait is the longest time to wait for limits and for NotBefore. The wait for the response to
	// another request does not count.
	MaxWait time.Duration
	// Asked is when the caller asked first, so that a request that is tried again keeps its place
	// in the queue; zero stands for now.
	Asked time.Time
	// NotBefore is the earliest time of the request, such as the end of a backoff; zero stands for
	// now.
	NotBefore time.Time
	// Observer is told what the limiter decides; nil for none.
	Observer Observer
}

// Permit allows one request to be sent.
type Permit interface {
	// Release ends the permit, reports the outcome of the request, and returns the lockout of its key,
	// zero if the key is open. It must be called once, as soon as the header of the response has
	// arrived; a second call has no effect.
	Release(o Outcome) Lockout
}

// permit is the permit of a Limiter. It remembers what the budget knew when it gave the permit, for
// the outcome to be compared with.
type permit struct {
	queue    *queue
	observer Observer
	slot     slot
	released bool

	// number and epoch are what the pot's last reply said when the permit was given; 0 without a pot.
	number, epoch int64
}

// wallClock returns the time by the wall clock alone: the monotonic clock stands still while a
// machine is suspended, and windows do not.
func wallClock() time.Time { return time.Now().Round(0) }

// RateLimit returns the last known window of a key; zero before the first response.
func (l *Limiter) RateLimit(key string) Window {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.keys[key]; q != nil {
		return q.budget.known()
	}
	return Window{}
}

// Reopen lets one request of a key go ahead although the key is closed, for instance after a ban
// was lifted or a higher plan was bought. It sends nothing, and has no effect on an open key.
func (l *Limiter) Reopen(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.keys[key]; q != nil {
		now := l.now()
		q.budget.reopen(now)
		if q.pot != nil {
			q.pot.report.Reopen, q.pot.reportAt = true, now
		}
		q.dispatch(now)
	}
}

// Acquire waits for a permit. If the wait would be longer than r.MaxWait, or would exceed the
// deadline of ctx, it returns an [*Error] immediately. It also returns one if ctx ends during the
// wait. With an error there is no permit.
func (l *Limiter) Acquire(ctx context.Context, r Request) (Permit, error) {
	p, w := l.enter(ctx, &r)
	if p != nil {
		return p, nil
	}
	if w.refused == nil {
		w.await(ctx)
	}
	if w.permit != nil {
		return w.permit, nil
	}
	if w.closed != nil && w.Observer != nil {
		w.Observer.LimitClosed(*w.closed)
	}
	return nil, w.refused
}

// enter returns a permit or, if there is none for r now, a waiter, which may be refused already.
// While other requests wait, it does not ask for a permit, so that r cannot overtake them.
func (l *Limiter) enter(ctx context.Context, r *Request) (*permit, *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	q := l.queue(r.Key, now)
	first := len(q.waiters) == 0 || !r.Background && q.waiters[0].Background
	if first && !r.NotBefore.After(now) && contextError(ctx, now) == nil {
		if p := q.admit(now, r.Background); p != nil {
			p.observer = r.Observer
			return p, nil
		}
	}
	return nil, q.newWaiter(ctx, now, r)
}

// queue returns the queue of a key. For a new key it makes one, with a budget that knows nothing.
func (l *Limiter) queue(key string, now time.Time) *queue {
	q := l.keys[key]
	if q == nil {
		l.dropIdle(now)
		q = &queue{limiter: l, key: key, budget: l.budget}
		if l.exchange != nil {
			q.pot = &pot{}
		}
		l.keys[key] = q
	}
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
		idle := q.waiting == 0 && q.budget.inFlight == 0 && (q.pot == nil || q.pot.idle())
		return idle && passed(now, q.budget.ends())
	})
	l.sweepAt = 2 * len(l.keys)
}

// Release implements [Permit].
func (p *permit) Release(o Outcome) Lockout {
	lockout, events := p.release(&o)
	if p.observer != nil {
		events.report(p.observer)
	}
	return lockout
}

// release is Release without its reports, which must be made without the lock.
func (p *permit) release(o *Outcome) (lockout Lockout, e events) {
	q := p.queue
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	now := q.timeOf(o)
	if !p.released {
		e = p.settle(o, now)
		q.dispatch(now)
	}
	return q.budget.closedNow(now), e
}

// timeOf returns the time at which an outcome is reported. While no request waits, the time at
// which the response arrived is near enough, which saves a reading of the clock. That time is used
// only if it has a monotonic part, as the times of time.Now have: any other time may come from
// another clock.
func (q *queue) timeOf(o *Outcome) time.Time {
	received := o.Received.Round(0)
	if received == o.Received || len(q.waiters) > 0 || q.pot != nil {
		return q.limiter.now()
	}
	return later(q.budget.now, received)
}

// settle reports the outcome to the budget and to the pot.
func (p *permit) settle(o *Outcome, now time.Time) events {
	p.released = true
	e := p.queue.budget.settle(p.slot, o, now)
	if pot := p.queue.pot; pot != nil {
		pot.settle(p, o, p.queue.budget.shown, now)
	}
	return e
}
