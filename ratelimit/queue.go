package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// agedAfter is the age from which a waiting background call gets a share of the permits
	// although foreground calls wait. It is the length of a window, so that the call has seen one
	// begin.
	agedAfter = time.Minute
	// agedShare: aged background calls get one permit in 10 while foreground calls wait. That is as
	// much as the reserve, which background calls leave to foreground calls otherwise.
	agedShare = 10
)

// The classes of calls; the first goes first.
const (
	foreground = iota
	background
)

// refusal is why a request gets no permit.
type refusal struct {
	err    *Error
	closed *Lockout // to be reported; nil if it was, or if no limit is the reason
}

// queue has the budget of one key and the calls that wait for it. The lock of the limiter guards it.
type queue struct {
	limiter *Limiter
	key     string
	budget  budget
	pot     *pot      // nil if the budget is not shared
	why     Wait      // what the first waiter waits for; zero if there is none
	checked time.Time // q.ends when the waiters were last checked

	lines  [2]line // the calls of each class
	joined [2]int  // how many of them have reported their wait
	order  uint64  // of the latest waiter
	passed int     // foreground requests admitted since a background call got a permit

	limited time.Duration // total time before since in which the first waiter waited for a limit
	since   time.Time     // since when the first waiter waits for a limit; zero if it does not

	timer *time.Timer
	alarm time.Time // when timer fires; zero without one
}

// length returns the number of calls that wait.
func (q *queue) length() int { return len(q.lines[foreground]) + len(q.lines[background]) }

// passes reports whether a new call goes before all waiters. Those that still report their wait do
// not count: the report may make the call.
func (q *queue) passes(inBackground bool) bool {
	return q.joined[foreground] == 0 && (!inBackground || q.joined[background] == 0)
}

// dispatch gives permits to the first waiters, as many as the budget admits.
func (q *queue) dispatch(now time.Time) {
	for {
		w, asBackground := q.first(now)
		if w == nil {
			break
		}
		p, ok := q.admit(now, asBackground)
		if !ok {
			break
		}
		if w.class == background {
			q.passed = 0
		}
		p.observer = w.observer
		w.permit = p
		q.leave(w)
	}
	if q.why.Reason != "" && q.passes(true) {
		q.block(now, Wait{})
	}
	wake := q.why.wake
	if q.pot != nil {
		wake = q.draw(now)
	}
	q.setAlarm(now, wake)
}

// first returns the waiter that goes next, and whether it has to leave the reserve; nil if there is
// none.
func (q *queue) first(now time.Time) (w *waiter, asBackground bool) {
	front, behind := q.front(foreground), q.front(background)
	switch {
	case front == nil:
		return behind, true
	case behind != nil && q.passed >= agedShare-1 && now.Sub(behind.entered) >= agedAfter:
		return behind, false
	}
	return front, false
}

// front returns the first waiter of a class that has reported its wait; nil if there is none.
func (q *queue) front(class int) *waiter {
	if q.joined[class] == 0 {
		return nil
	}
	place := slices.IndexFunc(q.lines[class], func(w *waiter) bool { return w.joined })
	return q.lines[class][place]
}

// admit asks the budget for one request. If the budget refuses, admit records what to wait for.
func (q *queue) admit(now time.Time, asBackground bool) (*permit, bool) {
	admit := q.budget.admit
	if q.pooled() {
		admit = q.take
	}
	slot, why, ok := admit(now, asBackground)
	if !ok {
		q.block(now, why)
		return nil, false
	}
	if !asBackground {
		q.passed++
	}
	p := &permit{queue: q, slot: slot}
	if q.pot != nil {
		q.pot.mark(p)
	}
	return p, true
}

// block records what the first waiter waits for. When that becomes a limit, or its end moves,
// waiters that cannot wait for so long are refused immediately.
func (q *queue) block(now time.Time, why Wait) {
	const slide = time.Second // the end of a sliding window moves with each response
	q.why = why
	begins, ends := false, q.ends()
	switch {
	case why.Until.IsZero():
		q.limited, q.since = q.clock(now), time.Time{}
	case q.since.IsZero():
		q.since, begins = now, true
	}
	if begins || ends.Sub(q.checked).Abs() > slide {
		q.checked = ends
		q.refuseLate(now)
	}
}

// clock returns the total time in which the first place of the queue waited for limits. The
// difference between two readings is the time that counts against the longest wait of a call.
func (q *queue) clock(now time.Time) time.Duration {
	if q.since.IsZero() {
		return q.limited
	}
	return q.limited + now.Sub(q.since)
}

// refuseLate refuses the waiters that cannot be served in time.
func (q *queue) refuseLate(now time.Time) {
	before := 0
	for class := range q.lines {
		q.lines[class] = slices.DeleteFunc(q.lines[class], func(w *waiter) bool {
			refused := q.refuseIfLate(now, w, before)
			if !refused {
				before++
			}
			return refused
		})
	}
}

// refuseIfLate refuses w if it cannot be served in time when that many others go before it, and
// reports whether it did. The caller removes w from its line.
func (q *queue) refuseIfLate(now time.Time, w *waiter, before int) bool {
	if w.joined {
		w.refused = q.late(now, w, before)
	}
	if w.refused == nil {
		return false
	}
	q.joined[w.class]--
	close(w.ready)
	return true
}

// ahead returns the number of waiters that go before w.
func (q *queue) ahead(w *waiter) int {
	n := q.lines[w.class].find(w)
	if w.class == background {
		n += len(q.lines[foreground])
	}
	return n
}

// leave removes w from the queue, and ends its wait.
func (q *queue) leave(w *waiter) {
	q.lines[w.class].remove(w)
	if w.joined {
		q.joined[w.class]--
	}
	close(w.ready)
}

// refuse refuses a request that cannot be admitted before at, and records that the key is closed.
func (q *queue) refuse(now, at time.Time) *refusal {
	b := &q.budget
	scope := q.scopeAt(now, at)
	left := -1
	if passed(now, b.lockout.until) {
		left = q.left()
	}
	r := &refusal{err: &Error{RetryAt: at, Window: b.known(), Scope: scope}}
	if scope != "" {
		r.closed = b.close(b.lockoutOf(scope, at), left)
	}
	return r
}

// ended refuses a request whose context has ended.
func (q *queue) ended(ctx context.Context, now time.Time, during string) *refusal {
	at := q.earliest(now, 0, false)
	e := &Error{RetryAt: at, Window: q.budget.known(), Scope: q.scopeAt(now, at), Err: causeOf(ctx, now)}
	if e.Scope == "" {
		e.RetryAt = time.Time{} // a response decides
		e.Err = fmt.Errorf("%s: %w", during, e.Err)
	}
	return &refusal{err: e}
}

// contextErr returns ctx.Err(), or context.DeadlineExceeded once the deadline has passed: a
// connection may report the deadline a moment before the context's own timer fires.
func contextErr(ctx context.Context, now time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !now.Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// causeOf returns an error that matches that of a context that has ended, and its cause.
func causeOf(ctx context.Context, now time.Time) error {
	err, cause := contextErr(ctx, now), context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// longestSleep is how long nothing looks at the wall clock, at most. Timers stand still while the
// machine is suspended, and the wall clock can be set.
const longestSleep = 30 * time.Second

// setAlarm has permits dispatched at a time, or earlier; the zero time stands for never.
func (q *queue) setAlarm(now, at time.Time) {
	if at.IsZero() && q.alarm.IsZero() {
		return
	}
	if at.Sub(now) > longestSleep {
		at = now.Add(longestSleep)
	}
	if at.Equal(q.alarm) || !at.IsZero() && !q.alarm.IsZero() && q.alarm.After(now) && q.alarm.Before(at) {
		return // the timer fires early enough, and ring sets it again
	}
	if q.timer != nil {
		q.timer.Stop() // if it has just fired, one more ring does no harm
		q.timer = nil
	}
	q.alarm = at
	if !at.IsZero() {
		q.timer = time.AfterFunc(at.Sub(now), q.ring)
	}
}

// ring is called by the timer.
func (q *queue) ring() {
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	now := q.limiter.now()
	q.setAlarm(now, time.Time{})
	q.dispatch(now)
}

// line has waiters in the order in which their calls asked first. Nearly always they come at its
// end and leave at its front.
type line []*waiter

// before compares the places of two waiters.
func (w *waiter) before(other *waiter) int {
	return cmp.Or(w.asked.Compare(other.asked), cmp.Compare(w.order, other.order))
}

// find returns the place of w. Without w, that is where it belongs.
func (l line) find(w *waiter) int {
	place, _ := slices.BinarySearchFunc(l, w, (*waiter).before)
	return place
}

func (l *line) insert(w *waiter) { *l = slices.Insert(*l, l.find(w), w) }

// remove removes w, which is in the line. With 100,000 waiters, it must not move all of them for
// each that leaves at the front.
func (l *line) remove(w *waiter) {
	place := l.find(w)
	if place == 0 {
		(*l)[0] = nil
		*l = (*l)[1:]
		return
	}
	*l = slices.Delete(*l, place, place+1)
}
