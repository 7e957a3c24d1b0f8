package ratelimit

import (
	"slices"
	"time"
)

const (
	// agedAfter is the age from which a waiting background request gets a share of the permits
	// although foreground requests wait. It is the length of a window, so that the request has seen one
	// begin.
	agedAfter = time.Minute
	// agedShare: aged background requests get one permit in 10 while foreground requests wait. That is as
	// much as the reserve, which background requests leave to the others otherwise.
	agedShare = 10
)

// The classes of requests; the first goes first.
const (
	foreground = iota
	background
)

// queue has the budget of one key and the requests that wait for it: it asks the budget for the first
// one, until the budget refuses (dispatch), and again when a permit is released or when the time has
// come that the budget has named (setAlarm). The lock of the limiter guards it. waiter.go is a
// request from its arrival to its permit, and refusal.go why it gets none.
type queue struct {
	limiter *Limiter
	key     string
	budget  budget
	pot     *pot      // nil if the budget is not shared
	why     Wait      // what the first waiter waits for; zero if there is none
	checked time.Time // q.ends when the waiters were last checked

	lines  [2]line // the requests of each class
	joined [2]int  // how many of them have reported their wait
	order  uint64  // of the latest waiter
	passed int     // foreground requests admitted since one in background got a permit

	limited time.Duration // total time before since in which the first waiter waited for a limit
	since   time.Time     // since when the first waiter waits for a limit; zero if it does not

	timer *time.Timer
	alarm time.Time // when timer fires; zero without one
}

// length returns the number of requests that wait.
func (q *queue) length() int { return len(q.lines[foreground]) + len(q.lines[background]) }

// passes reports whether a new request goes before all waiters. Those that still report their wait do
// not count: the report may make the new one.
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
// difference between two readings is the time that counts against the longest wait of a request.
func (q *queue) clock(now time.Time) time.Duration {
	if q.since.IsZero() {
		return q.limited
	}
	return q.limited + now.Sub(q.since)
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

// nap returns for how long a wait of d sleeps before it looks at the wall clock again: timers stand
// still while the machine is suspended, and the wall clock can be set. A sixteenth of a long wait
// has a wait of a day look about a hundred times, and it is then late by little.
func nap(d time.Duration) time.Duration { return min(d, max(30*time.Second, d/16)) }

// setAlarm has permits dispatched at a time, or earlier; the zero time stands for never.
func (q *queue) setAlarm(now, at time.Time) {
	if at.IsZero() && q.alarm.IsZero() {
		return
	}
	if !at.IsZero() {
		at = now.Add(nap(at.Sub(now)))
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
