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
// Release as soon as the header of its response is there. It is safe for concurrent use.
//
// A request waits only in these cases: the window is used up; a 429 has closed the key, for its
// Retry-After and, if it used up its window, until Reset; the first request for the key, or the
// first after a 429, has no response yet; or others may use the key, and as many requests are in
// flight as are safe then. Each response that shows no other process raises that number: a burst of
// a process that is alone takes at most three round trips longer. Without the rate limit headers
// two requests are in flight at most, and one after a 429. Requests are admitted in the order of
// their arrival, background requests last.
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
// limiter. The limiter then has fewer requests in flight, and leaves the last requests of a window
// to the others. By default, and if n is not positive, it infers from the responses whether others
// use the key; if eight processes start together, some of them learn that too late.
func Processes(n int) Option {
	return func(l *Limiter) { l.processes = max(0, n) }
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

// wallClock returns the time by the wall clock alone: the monotonic clock stands still while a
// machine is suspended, and windows do not.
func wallClock() time.Time { return time.Now().Round(0) }

// Request describes the request that [Limiter.Acquire] is asked for. The zero Request is refused if
// it would have to wait for a limit.
type Request struct {
	// Key identifies the API key, and is not the key itself. Each key has a budget of its own.
	Key string
	// Background requests are admitted after all others. They leave a tenth of each window to them,
	// if there were any in the last two minutes.
	Background bool
	// MaxWait is the longest wait. A request is refused at once if a known limit or its NotBefore lasts
	// longer, and when it has been in Acquire for MaxWait and one second more, whatever it waits for.
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
	//
	// A permit that is never released counts as a request in flight for ever: each window then has
	// room for one request less. If it was that of the first request for the key, or of the first after
	// a 429, the others wait for it: for a second, or after a 429 for ten.
	Release(o Outcome) Lockout
}

// ticket is one request in a limiter, from Acquire to Release. It is admitted or refused at once, or
// it waits. Once it is admitted, it is the permit. The lock of the limiter guards it.
type ticket struct {
	Request
	queue   *queue
	state   state
	entered time.Time
	latest  time.Time     // when the longest wait for a limit ends
	ready   chan struct{} // closed when a ticket of the queue is admitted or refused

	// When it is admitted: by which budget, since a clock that is set back makes a new one, and what
	// that knew.
	budget *budget
	slot   slot

	// When it is refused: the error of Acquire, and a lockout to be reported with it; nil for none.
	refused *Error
	closed  *Lockout
}

// state is where a ticket is.
type state int

const (
	apart    state = iota // waits outside the queue: it is before NotBefore, or its wait is being reported
	queued                // waits in the queue
	admitted              // may be sent, and has no outcome yet
	over                  // refused or released
)

// Acquire waits for a permit. It returns an [*Error] immediately if a known limit lasts longer than
// r.MaxWait, or longer than the deadline of ctx allows. It also returns one if ctx ends during the
// wait, or when the wait has taken r.MaxWait and one second more. With an error there is no permit.
func (l *Limiter) Acquire(ctx context.Context, r Request) (Permit, error) {
	t, wait := l.enter(ctx, &r)
	if t.state == apart {
		t.await(ctx, wait)
	}
	if t.refused == nil {
		return t, nil
	}
	if t.closed != nil && t.Observer != nil {
		t.Observer.LimitClosed(*t.closed)
	}
	return nil, t.refused
}

// enter admits a request, or refuses it, or returns a ticket that waits, and the wait to report.
// While other requests wait, it does not ask the budget, so that the request cannot overtake them.
func (l *Limiter) enter(ctx context.Context, r *Request) (*ticket, Wait) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queue(r.Key)
	now := q.clock()
	t := &ticket{Request: *r, queue: q, entered: now, latest: now.Add(max(0, r.MaxWait))}
	first := len(q.tickets) == 0 || !r.Background && q.tickets[0].Background
	if first && ctx.Err() == nil && !r.NotBefore.After(now) && q.admit(now, t) {
		return t, Wait{}
	}
	if t.Asked.IsZero() {
		t.Asked = now
	}
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(t.latest) {
		t.latest = deadline
	}
	if t.isRefused(now, q.place(t), contextError(ctx)) {
		return t, Wait{}
	}
	q.apart++
	t.ready = make(chan struct{})
	return t, t.describe(now)
}

// Release implements [Permit]. It reports without the lock: an observer may use the limiter.
func (t *ticket) Release(o Outcome) Lockout {
	q := t.queue
	q.limiter.mu.Lock()
	now := q.clock()
	var lockout Lockout
	var closed, opened *Lockout
	if t.state == admitted {
		t.state = over
		t.budget.settle(t.slot, &o, now)
		closed, opened = q.changes(t.slot.admitted, &o, now)
		q.dispatch(now)
	}
	if !passed(now, q.budget.until) {
		lockout = q.lockout(q.budget.reason, q.budget.until)
	}
	q.limiter.mu.Unlock()
	if closed != nil && t.Observer != nil {
		t.Observer.LimitClosed(*closed)
	}
	if opened != nil && t.Observer != nil {
		t.Observer.LimitOpened(*opened)
	}
	return lockout
}

// queue returns the queue of a key. For a new key it makes one, with a budget that knows nothing.
// Once there are many keys, it drops those without useful knowledge. It looks again when there are
// twice as many keys as it kept: then a new key costs little, however many there are.
func (l *Limiter) queue(key string) *queue {
	q := l.keys[key]
	if q == nil {
		if len(l.keys) >= max(manyKeys, l.sweepAt) {
			maps.DeleteFunc(l.keys, func(_ string, q *queue) bool {
				requests := len(q.tickets) + q.apart + len(q.budget.inFlight)
				return requests == 0 && passed(l.now(), q.budget.ends())
			})
			l.sweepAt = 2 * len(l.keys)
		}
		q = &queue{limiter: l, budget: &budget{processes: l.processes}}
		l.keys[key] = q
	}
	return q
}

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
		now := q.clock()
		q.budget.reopen(now)
		q.reported.Until = now
		q.dispatch(now)
	}
}
