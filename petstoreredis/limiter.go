package petstoreredis

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/petstore/petstore-go"
)

// Limiter is a [petstore.Limiter] whose budget every process shares that gives the same name to the same Redis.
// [NewLimiter] makes one; give it to all clients of the key in this process through [petstore.WithLimiter]. It is safe
// for concurrent use and needs no closing: at rest it has neither goroutine nor timer. The client of Redis belongs
// to the caller, who closes it.
type Limiter struct {
	store  store
	config config
	id     string // of this party, new for every Limiter

	mu     sync.Mutex
	known  knowledge
	offset offset
	last   petstore.Observation // the last answer with a limit, of the latest window

	line    line
	tickets uint64 // issued so far

	unused   []slot    // permits that nobody has asked for yet
	until    time.Time // the lease of all that is held
	granted  int       // at a time, last
	since    time.Time // of that
	taken    time.Time // when the last of them was asked for
	inFlight int
	idle     time.Time // since the last answer
	probing  int       // of those in flight

	courier
	timer   *time.Timer
	wakeAt  time.Time
	absence absence
	label   string // in the log
}

var (
	_ petstore.Limiter  = (*Limiter)(nil)
	_ petstore.Reopener = (*Limiter)(nil)
)

// permit is leave to send one request.
type permit struct {
	limiter  *Limiter
	slot     slot
	late     bool  // the window was over
	window   int   // of alone
	alone    *solo // nil if Redis gave it
	released bool
}

// NewLimiter returns a limiter whose state is kept by rdb under a name, such as that of the key's owner and plan. All
// limiters with one name share one budget; the processes of a fleet must use the same version of this package.
// Only a hash of the name leaves the process, so that it may even be the API key.
//
// NewLimiter does no I/O. It fails with a [petstore.ArgumentError] if rdb is nil, the name is empty, or an option is
// wrong.
func NewLimiter(rdb redis.UniversalClient, name string, opts ...Option) (*Limiter, error) {
	if v := reflect.ValueOf(rdb); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, argumentError("rdb", "is nil")
	}
	if name == "" {
		return nil, argumentError("name", "is empty")
	}
	config := defaults()
	for _, opt := range opts {
		if opt == nil {
			return nil, argumentError("opts", "has a nil option")
		}
		opt(&config)
	}
	if err := config.check(); err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(name))
	return &Limiter{
		store:  newStore(rdb, config.prefix, hex.EncodeToString(hash[:])),
		config: config,
		id:     rand.Text(),
		label:  hex.EncodeToString(hash[:6]),
	}, nil
}

// RateLimit implements [petstore.Limiter]. It asks nobody.
func (l *Limiter) RateLimit() petstore.RateLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known.rateLimit
}

// Acquire implements [petstore.Limiter]. What Redis takes to answer, [WithTimeout] at the most, is not part of
// maxWait: with 0, a call that finds room at once is admitted.
func (l *Limiter) Acquire(ctx context.Context, maxWait time.Duration) (petstore.Permit, error) {
	p, w, err := l.enter(ctx, maxWait)
	switch {
	case err != nil:
		return nil, err
	case p != nil:
		return p, nil
	}
	return l.await(ctx, w)
}

// Reopen implements [petstore.Reopener]: all processes are told, and the first that has a call asks the service. The
// budget is one for all keys that the name is used for, so that keyID does not matter.
func (l *Limiter) Reopen(string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.known.reopen()
	if l.absence.alone != nil {
		l.absence.alone.reopen(now)
	}
	l.reopens, l.urgent = true, true
	l.dispatch(now)
}

// Flush tells Redis what this process has done, and gives back what it has reserved and not used. It is for programs
// that end right after their last call, so that the others need not wait for the end of the lease; otherwise it is
// done a moment later anyway. While Redis is away Flush does nothing. The error is that of Redis.
func (l *Limiter) Flush(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.quiet(ctx)
	if err == nil && l.absence.alone == nil {
		err = l.tell(ctx)
	}
	if err != nil {
		return fmt.Errorf("petstoreredis: flush: %w", err)
	}
	return nil
}

// enter gives a permit, a place in the queue, or an error.
func (l *Limiter) enter(ctx context.Context, maxWait time.Duration) (petstore.Permit, *waiter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if end := endOf(ctx); end != nil {
		return nil, nil, l.ended(now, end)
	}
	w := newWaiter(ctx, now, maxWait)
	w.ticket = petstore.Ticket(ctx, l, l.issue)
	l.expire(now)
	if l.absence.alone != nil && !now.Before(l.absence.tryAt) {
		l.speak(now)
	}
	next, ahead := l.line.ahead(w.ticket)
	if next == nil && ahead == 0 {
		if p := l.take(now); p != nil {
			return p, nil, nil
		}
	}
	if at := l.earliest(now, ahead); w.late(at) && at.After(now) {
		l.look(now)
		return nil, nil, l.refusal(now, at)
	}
	l.line.enter(w)
	if at := l.earliest(now, ahead); at.After(now) {
		w.tell(l.wait(now, at))
	}
	l.dispatch(now)
	return nil, w, nil
}

// issue returns the next place in the order of all calls.
func (l *Limiter) issue() uint64 {
	l.tickets++
	return l.tickets
}

// await waits for what the queue has for w, unless its time or its context ends before.
func (l *Limiter) await(ctx context.Context, w *waiter) (petstore.Permit, error) {
	// Should what hears of the wait panic, the place is free.
	served := false
	defer func() {
		if !served {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.withdraw(w, time.Now())
		}
	}()
	timer := time.NewTimer(max(time.Until(w.deadline), l.longestTrip()))
	defer timer.Stop()
	select {
	case <-w.ready:
	case <-timer.C:
	case <-ctx.Done():
	case why := <-w.why:
		begun, done := time.Now(), petstore.StartWait(ctx, why)
		defer func() { done(l.free(w, begun)) }()
		select {
		case <-w.ready:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	p, err := l.outcome(ctx, w)
	served = true
	return p, err
}

// outcome is what became of w, which does not wait any more.
func (l *Limiter) outcome(ctx context.Context, w *waiter) (petstore.Permit, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if end := endOf(ctx); end != nil { // also if the permit came at the same instant
		l.withdraw(w, now)
		return nil, l.ended(now, end)
	}
	switch {
	case w.permit != nil:
		return w.permit, nil
	case w.refused != nil:
		return nil, w.refused
	}
	l.withdraw(w, now)
	return nil, l.refusal(now, l.earliest(now, 0))
}

// longestTrip is more than a command may take.
func (l *Limiter) longestTrip() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.timeout() + time.Millisecond
}

// free is how much of a wait was for a response only.
func (l *Limiter) free(w *waiter, begun time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.blocked {
		return 0
	}
	return time.Since(begun)
}

// Release implements [petstore.Permit].
func (p *permit) Release(o petstore.Observation) {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.released {
		return
	}
	now := time.Now()
	l.giveBack(p)
	l.idle = now
	switch alone := l.absence.alone; {
	case !o.Sent.IsZero() || p.slot.First:
		r := l.settle(p.slot, p.late, o)
		if alone != nil {
			window := p.window
			if p.alone != alone {
				window = 0
			}
			alone.settle(r, window)
			l.refuse(now, l.seq, false)
		}
	case p.alone != nil:
		p.alone.settle(report{Unsent: true}, p.window)
	case alone == nil:
		l.unused = append(l.unused, p.slot)
	}
	l.dispatch(now)
}

// take makes a permit of what nobody has asked for yet, or of this process's part while Redis is away. It is nil if
// there is none.
func (l *Limiter) take(now time.Time) *permit {
	if alone := l.absence.alone; alone != nil {
		if !alone.admit(now) {
			return nil
		}
		l.inFlight++
		return &permit{limiter: l, alone: alone, window: alone.window}
	}
	if len(l.unused) == 0 {
		return nil
	}
	s := l.unused[0]
	l.unused = l.unused[1:]
	l.taken = now
	l.inFlight++
	if s.First {
		l.probing++
	}
	return &permit{limiter: l, slot: s, late: s.First || l.known.Epoch > 0 && !now.Before(l.known.ends)}
}

// giveBack ends what take began.
func (l *Limiter) giveBack(p *permit) {
	p.released = true
	l.inFlight--
	if p.slot.First {
		l.probing--
	}
}

// settle notes what became of a request.
func (l *Limiter) settle(s slot, late bool, o petstore.Observation) report {
	l.offset.narrow(o)
	r := newReport(s, late, o, l.offset)
	if r.Rejected {
		l.unused = nil // the gate is closed, whatever there was room for
	}
	shown := l.known.rateLimit
	news := s.Urgent || s.First && r.Unsent || r.Rejected ||
		r.Limit > 0 && (r.Limit != shown.Limit || o.RateLimit.Reset.Sub(shown.Reset) > sameWindow)
	if r.Limit > 0 {
		l.known.sees(o.RateLimit)
		if !o.RateLimit.Reset.Before(l.last.RateLimit.Reset) {
			l.last = o
		}
	}
	l.report(r)
	l.urgent = l.urgent || news || l.anyAnswer && l.line.len() > 0
	return r
}

// dispatch gives permits to the first of the queue, as many as there are, and has Redis told and asked what is due.
func (l *Limiter) dispatch(now time.Time) {
	l.expire(now)
	l.line.each(func(w *waiter, ahead int) {
		if ahead > 0 {
			return
		}
		if p := l.take(now); p != nil {
			w.permit = p
			l.line.leave(w)
		}
	})
	if at, ok := l.due(); ok && !l.busy && !now.Before(at) {
		l.speak(now)
	}
	l.arm(now)
}

// refuse sends away who cannot be served in time any more, and who has asked in vain and does not want to wait. The
// others are told what they wait for.
func (l *Limiter) refuse(now time.Time, seq int, denied bool) {
	l.line.each(func(w *waiter, ahead int) {
		at := l.earliest(now, ahead)
		switch {
		case w.late(at) && at.After(now) || denied && !w.patient && w.asked == seq:
			w.refused = l.refusal(now, at)
			l.line.leave(w)
		case denied && w.asked == seq:
			w.tell(l.wait(now, at))
		}
	})
}

// withdraw takes back what w waited for.
func (l *Limiter) withdraw(w *waiter, now time.Time) {
	switch {
	case w.permit != nil && w.permit.alone != nil:
		l.giveBack(w.permit)
		w.permit.alone.settle(report{Unsent: true}, w.permit.window)
	case w.permit != nil:
		l.giveBack(w.permit)
		l.unused = append(l.unused, w.permit.slot)
	case w.place != nil:
		l.line.leave(w)
	}
	l.dispatch(now)
}

// expire forgets what the lease does not cover any more: Redis takes it for lost.
func (l *Limiter) expire(now time.Time) {
	if !now.Before(l.until) {
		l.unused = nil
	}
}

// ended is the error for a call whose context has ended.
func (l *Limiter) ended(now time.Time, end error) error {
	e := l.refusal(now, l.earliest(now, 0))
	e.Err = end
	return e
}

// earliest is a time before which a request with that many ahead of it in this process cannot go; now, if it is not
// known that it cannot.
func (l *Limiter) earliest(now time.Time, ahead int) time.Time {
	if l.absence.alone != nil {
		return l.absence.alone.earliest(now, ahead)
	}
	return l.known.earliest(now, ahead)
}

// scope tells what keeps a request from going before at, zero if nothing that is known.
func (l *Limiter) scope(now, at time.Time) petstore.LimitScope {
	if l.absence.alone != nil {
		return l.absence.alone.scope(now, at)
	}
	return l.known.scope(now, at)
}

// refusal is the error for a call that cannot go before at. Its limit is the whole, also while this process keeps to
// its part.
func (l *Limiter) refusal(now, at time.Time) *petstore.RateLimitError {
	e := &petstore.RateLimitError{RateLimit: l.known.rateLimit, Scope: l.scope(now, at), Local: true}
	if at.After(now) {
		e.RetryAt = at
	}
	return e
}

// wait is what a call is told that cannot go before at.
func (l *Limiter) wait(now, at time.Time) petstore.Wait {
	w := petstore.Wait{Reason: petstore.WaitReason(l.scope(now, at)), Waiting: l.line.len()}
	if w.Reason == "" {
		w.Reason = petstore.WaitResponse
	}
	if at.After(now) {
		w.Until = at
	}
	return w
}

// look asks Redis now and then, for a call that is refused, whether another process has learned more since.
func (l *Limiter) look(now time.Time) {
	if !l.busy && now.Sub(l.spoke) >= lookEvery && (l.absence.alone == nil || !now.Before(l.absence.tryAt)) {
		l.speak(now)
		l.arm(now)
	}
}

// arm has a look taken again when something is due, and not otherwise.
func (l *Limiter) arm(now time.Time) {
	at, ok := l.due()
	if l.busy { // its reply will be a look
		ok = false
	}
	if alone := l.absence.alone; alone != nil && l.line.len() > 0 {
		if next := alone.next(now); !ok || next.Before(at) {
			at, ok = next, true
		}
	}
	if !ok {
		at = time.Time{}
	}
	if at.Equal(l.wakeAt) {
		return
	}
	if l.timer != nil {
		l.timer.Stop() // in vain if it has just fired: looking once more does no harm
		l.timer = nil
	}
	l.wakeAt = at
	if !at.IsZero() {
		l.timer = time.AfterFunc(at.Sub(now), l.wake)
	}
}

func (l *Limiter) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer, l.wakeAt = nil, time.Time{}
	l.dispatch(time.Now())
}
