package petstore

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// NewLimiter returns a limiter for one API key in one process, as a [Client] makes for itself by
// default. It knows no plan: it learns the limits from the headers of the answers (section 8.2).
//
// The first request goes alone, and so does the first after a window has been used up; what its
// answer says opens the door for the rest. No more requests are on their way than the service has said to have
// room for. After a 429 nothing is sent before the latest of Retry-After and Reset, and then one
// request, on whose success the others follow. Without the headers, at most two requests are on
// their way at a time. Callers are served in the order in which they came.
//
// A limiter has no goroutine, and no timer while nobody waits.
func NewLimiter() Limiter { return &limiter{} }

// limiter puts a lock, a line of callers and a timer around a budget.
type limiter struct {
	mu      sync.Mutex
	budget  budget
	line    list.List // of *waiter, by turn
	turns   uint64    // given so far
	why     wait      // what the first of the line waits for
	checked int       // budget.changes when the line was last looked through
	timer   *time.Timer
	wakeAt  time.Time
}

// waiter is a call in the line.
type waiter struct {
	turn     uint64
	deadline time.Time
	timeout  time.Duration // until it has to leave, 0 if its context tells
	place    *list.Element // nil once one of the following is set
	permit   *permit
	refused  *RateLimitError
	ready    chan struct{} // closed when one is
}

// permit allows one request to be sent.
type permit struct {
	limiter  *limiter
	slot     slot
	released bool
}

// RateLimit implements [Limiter].
func (l *limiter) RateLimit() RateLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.budget.rateLimit()
}

// Acquire implements [Limiter].
func (l *limiter) Acquire(ctx context.Context, maxWait time.Duration) (Permit, error) {
	p, w, why, err := l.enter(ctx, maxWait)
	switch {
	case err != nil:
		return nil, err
	case p != nil:
		return p, nil
	}
	done := l.tell(ctx, w, why)
	defer done(0)
	return l.await(ctx, w)
}

// tell has the caller know that it is about to wait. Should that panic, its place is free.
func (l *limiter) tell(ctx context.Context, w *waiter, why wait) func(time.Duration) {
	told := false
	defer func() {
		if !told {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.withdraw(w, time.Now())
		}
	}()
	done := StartWait(ctx, Wait{Reason: WaitReason(why.reason), Until: why.until, Waiting: why.waiters})
	told = true
	return done
}

// enter gives a permit, a place in the line, or an error.
func (l *limiter) enter(ctx context.Context, maxWait time.Duration) (*permit, *waiter, wait, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if end := endOf(ctx); end != nil {
		return nil, nil, wait{}, l.ended(now, end)
	}
	number := Ticket(ctx, l, l.issue)
	l.dispatch(now)
	if l.line.Len() == 0 {
		s, why, ok := l.budget.admit(now)
		if ok {
			return &permit{limiter: l, slot: s}, nil, wait{}, nil
		}
		l.why = why
	}
	w := &waiter{turn: number}
	fits := w.limit(ctx, now, maxWait)
	next, ahead := l.place(number)
	if at := l.budget.earliest(now, ahead); !fits || w.late(at) {
		return nil, nil, wait{}, l.refusal(now, at)
	}
	w.ready = make(chan struct{})
	if next == nil {
		w.place = l.line.PushBack(w)
	} else {
		w.place = l.line.InsertBefore(w, next)
	}
	l.arm(now)
	why := l.why
	why.waiters = l.line.Len()
	return nil, w, why, nil
}

// await waits for what the line has for w, unless its time or its context ends before.
func (l *limiter) await(ctx context.Context, w *waiter) (Permit, error) {
	var timeout <-chan time.Time
	if w.timeout > 0 {
		timer := time.NewTimer(w.timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-w.ready:
	case <-timeout:
	case <-ctx.Done():
	}
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
	return nil, l.refusal(now, l.budget.earliest(now, 0))
}

// Release implements [Permit].
func (p *permit) Release(o Observation) {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.released {
		return
	}
	p.released = true
	now := time.Now()
	l.budget.settle(p.slot, o, now)
	l.dispatch(now)
}

// dispatch gives permits to the first of the line, as many as there are.
func (l *limiter) dispatch(now time.Time) {
	if l.checked != l.budget.changes {
		l.checked = l.budget.changes
		l.refuse(now)
	}
	for e := l.line.Front(); e != nil; e = l.line.Front() {
		s, why, ok := l.budget.admit(now)
		if !ok {
			l.why = why
			break
		}
		w := e.Value.(*waiter)
		w.permit = &permit{limiter: l, slot: s}
		l.leave(w)
	}
	l.arm(now)
}

// refuse sends away who cannot be served in time any more.
func (l *limiter) refuse(now time.Time) {
	ahead := 0
	for e := l.line.Front(); e != nil; {
		w := e.Value.(*waiter)
		e = e.Next()
		if at := l.budget.earliest(now, ahead); w.late(at) {
			w.refused = l.refusal(now, at)
			l.leave(w)
			continue
		}
		ahead++
	}
}

// leave takes w, which has got its answer, out of the line.
func (l *limiter) leave(w *waiter) {
	l.line.Remove(w.place)
	w.place = nil
	close(w.ready)
}

// withdraw takes back what w waited for.
func (l *limiter) withdraw(w *waiter, now time.Time) {
	switch {
	case w.permit != nil:
		w.permit.released = true
		l.budget.giveBack(w.permit.slot)
	case w.place != nil:
		l.leave(w)
	}
	l.dispatch(now)
}

// arm has the line looked at again when the first of it waits for a time, and not otherwise.
func (l *limiter) arm(now time.Time) {
	var at time.Time
	if l.line.Len() > 0 {
		at = l.why.wake
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

// wake looks at the line again when the time that its first waits for has come.
func (l *limiter) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); !now.Before(l.wakeAt) {
		l.timer, l.wakeAt = nil, time.Time{}
		l.dispatch(now)
	}
}

// issue gives the next place in the order of all calls.
func (l *limiter) issue() uint64 {
	l.turns++
	return l.turns
}

// place is who stands next behind a turn in the line, nil if nobody, and how many stand before it.
func (l *limiter) place(number uint64) (*list.Element, int) {
	if back := l.line.Back(); back == nil || back.Value.(*waiter).turn < number {
		return nil, l.line.Len()
	}
	// A call that comes again is older than most: its place is near the front.
	e, ahead := l.line.Front(), 0
	for ; e.Value.(*waiter).turn < number; e = e.Next() {
		ahead++
	}
	return e, ahead
}

// limit sets until when w may wait, and reports whether it may at all.
func (w *waiter) limit(ctx context.Context, now time.Time, maxWait time.Duration) bool {
	w.deadline, w.timeout = now.Add(maxWait), maxWait
	if d, ok := ctx.Deadline(); ok && d.Before(w.deadline) {
		w.deadline, w.timeout = d, 0
	}
	return maxWait > 0
}

// late reports whether at is later than w can wait.
func (w *waiter) late(at time.Time) bool { return at.After(w.deadline) }

// refusal is the error for a call that cannot go before at.
func (l *limiter) refusal(now, at time.Time) *RateLimitError {
	e := &RateLimitError{
		RateLimit: l.budget.rateLimit(),
		Scope:     l.budget.closed(now, at),
		Local:     true,
	}
	if at.After(now) {
		e.RetryAt = at
	}
	return e
}

// ended is the error for a call whose context has ended.
func (l *limiter) ended(now time.Time, end error) *RateLimitError {
	e := l.refusal(now, l.budget.earliest(now, 0))
	e.Err = end
	return e
}
