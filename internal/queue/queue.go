// Package queue has the calls that wait for the budget of a key. It decides which of them goes
// next, and which has waited too long. A [Limiter] has a queue for each key, with the rules of
// package quota.
package queue

import (
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

const (
	// agedAfter is the age from which a waiting background call gets a share of the permits
	// although foreground calls wait. It is the length of a window, so that the call has seen one
	// begin.
	agedAfter = time.Minute
	// agedShare: aged background calls get one permit in 10 while foreground calls wait. That is as
	// much as the reserve, which background calls leave to foreground calls otherwise.
	agedShare = 10
	// lateShare: a call that is put before others may make them late. Late calls are looked for
	// only once 1/8 of the queue was put before others, so that each such call costs little,
	// however many wait.
	lateShare = 8
	// ForReserve is the reason of a background call that waits because only the reserve is left.
	ForReserve quota.Reason = "background"
)

// The classes of calls; the first goes first.
const (
	foreground = iota
	background
)

// Refusal describes why a call gets no permit.
type Refusal struct {
	RetryAt   time.Time       // earliest time of the request; zero if a response decides
	RateLimit quota.RateLimit // as far as known
	Scope     quota.Scope     // the limit that refuses the request; empty if there is none
	Ended     bool            // the context of the call has ended
	Waited    bool            // it ended in the queue
	InFlight  int             // requests in flight then
}

// queue has the budget of one key and the calls that wait for it. The lock of the limiter guards it.
type queue struct {
	limiter *Limiter
	id      string // Call.KeyID
	budget  quota.Budget
	why     quota.Wait // what the first waiter waits for; zero if there is none
	checked int        // budget.Changes when the waiters were last checked

	waiting   [2]line // the waiters of each class
	reporting [2]line // those that report their wait, and will come back
	order     uint64  // of the latest waiter
	inserted  int     // waiters that were put before others since all were checked
	passed    int     // foreground requests admitted since a background call got a permit or came

	limited time.Duration // total time before since in which the first waiter waited for a limit
	since   time.Time     // since when the first waiter waits for a limit; zero if it does not

	timer *time.Timer
	alarm time.Time // when timer fires; zero without one
}

// length returns the number of calls that wait.
func (q *queue) length() int { return q.waiting[foreground].length + q.waiting[background].length }

// idle reports whether no call waits or is about to come back.
func (q *queue) idle() bool {
	return q.length()+q.reporting[foreground].length+q.reporting[background].length == 0
}

// passes reports whether a new call goes before all waiters.
func (q *queue) passes(inBackground bool) bool {
	return q.waiting[foreground].length == 0 && (!inBackground || q.waiting[background].length == 0)
}

// dispatch gives permits to the first waiters, as many as the budget admits.
func (q *queue) dispatch(now time.Time) {
	for {
		w, asBackground := q.first(now)
		if w == nil {
			break
		}
		permit, ok := q.admit(now, asBackground)
		if !ok {
			break
		}
		if w.class == background {
			q.passed = 0
		}
		w.permit = permit
		q.leave(w)
	}
	if q.length() == 0 {
		q.block(now, quota.Wait{})
	}
	q.setAlarm(now, q.why.Wake)
}

// first returns the waiter that goes next, and whether it has to leave the reserve; nil if there is
// none.
func (q *queue) first(now time.Time) (w *waiter, asBackground bool) {
	front, behind := q.waiting[foreground].first(), q.waiting[background].first()
	switch {
	case front == nil:
		return behind, true
	case behind != nil && q.passed >= agedShare-1 && now.Sub(behind.entered) >= agedAfter:
		return behind, false
	}
	return front, false
}

// admit asks the budget for one request. If the budget refuses, admit records what to wait for.
func (q *queue) admit(now time.Time, asBackground bool) (*Permit, bool) {
	slot, why, ok := q.budget.Admit(now, asBackground)
	if !ok {
		q.block(now, why)
		return nil, false
	}
	if !asBackground && q.waiting[background].length > 0 {
		q.passed++
	}
	return &Permit{queue: q, slot: slot}, true
}

// block records what the first waiter waits for. When that becomes a limit, waiters that cannot
// wait for so long are refused immediately.
func (q *queue) block(now time.Time, why quota.Wait) {
	q.why = why
	begins := false
	switch {
	case why.Until.IsZero():
		q.limited, q.since = q.clock(now), time.Time{}
	case q.since.IsZero():
		q.since, begins = now, true
	}
	if begins || q.checked != q.budget.Changes() {
		q.checked = q.budget.Changes()
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
	q.inserted = 0
	before := 0
	for class := range q.waiting {
		reporting := &q.reporting[class]
		for w := range q.waiting[class].all() {
			if r := q.late(now, w, before+reporting.ahead(w)); r != nil {
				w.refused = r
				q.leave(w)
			} else {
				before++
			}
		}
		before += reporting.length
	}
}

// ahead returns the number of waiters that go before w, with those that will come back from a
// report.
func (q *queue) ahead(w *waiter) int {
	n := q.waiting[w.class].ahead(w) + q.reporting[w.class].ahead(w)
	if w.class == background {
		n += q.waiting[foreground].length + q.reporting[foreground].length
	}
	return n
}

// leave removes w from the queue and wakes it.
func (q *queue) leave(w *waiter) {
	if w.in != nil {
		w.in.remove(w)
		w.in = nil
	}
	w.wake()
}

// reason returns what a call waits for.
func (q *queue) reason(inBackground bool) quota.Reason {
	if inBackground && q.why.Reason == quota.Reason(quota.Minute) {
		return ForReserve
	}
	return q.why.Reason
}

// refusal describes why a call cannot get a permit before at.
func (q *queue) refusal(now, at time.Time) *Refusal {
	return &Refusal{
		RetryAt: at, RateLimit: q.budget.RateLimit(), Scope: q.budget.Scope(now, at), InFlight: q.budget.InFlight(),
	}
}

// ended returns the refusal of a call whose context has ended. waited is whether that was in the
// queue.
func (q *queue) ended(now time.Time, waited bool) *Refusal {
	r := q.refusal(now, q.budget.Earliest(now, 0, false))
	r.Ended, r.Waited = true, waited
	return r
}

// setAlarm has permits dispatched at a time, or earlier; the zero time stands for never.
func (q *queue) setAlarm(now, at time.Time) {
	if at.Equal(q.alarm) || !at.IsZero() && !q.alarm.IsZero() && q.alarm.After(now) && q.alarm.Before(at) {
		return // the timer fires early enough, and ring sets it again
	}
	if q.timer != nil {
		q.timer.Stop() // if it has just fired, one more call does no harm
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
	if now := time.Now(); !now.Before(q.alarm) {
		q.timer, q.alarm = nil, time.Time{}
		q.dispatch(now)
	}
}
