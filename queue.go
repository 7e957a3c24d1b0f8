package petstore

import (
	"container/list"
	"time"

	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/quota"
)

const (
	// agedAfter is the age from which a waiting background call gets a share of the permits
	// although foreground calls wait. It is the length of a window, so that the call has seen one
	// begin.
	agedAfter = time.Minute
	// agedShare: aged background calls get one in 10 permits while foreground calls wait. That is
	// as much as the default reserve takes from them otherwise.
	agedShare = 10
)

// The classes of calls; the first goes first.
const (
	foreground = iota
	background
)

// keyQueue has the budget of one key and the calls that wait for it. The limiter's lock guards it.
type keyQueue struct {
	limiter *limiter
	id      string // Call.KeyID
	budget  quota.Budget
	waiters [2]list.List // of *waiter: a list for each class, ordered by ticket
	passed  int          // foreground requests admitted since a background call got a permit or came

	why     quota.Wait    // what the first waiter waits for; zero if there is none
	limited time.Duration // total time before since in which the first waiter waited for a limit
	since   time.Time     // since when the first waiter waits for a limit; zero if it does not
	checked int           // budget.Changes when refuse last went through the queue
	timer   *time.Timer
	wakeAt  time.Time // when timer fires; zero without one
}

func (q *keyQueue) len() int { return q.waiters[foreground].Len() + q.waiters[background].Len() }

// passes reports whether there is no waiter that goes before a new call.
func (q *keyQueue) passes(inBackground bool) bool {
	return q.waiters[foreground].Len() == 0 && (!inBackground || q.waiters[background].Len() == 0)
}

// admit asks the budget for one request. If the budget refuses, admit records what to wait for.
func (q *keyQueue) admit(now time.Time, inBackground bool) (quota.Slot, bool) {
	slot, why, ok := q.budget.Admit(now, inBackground)
	switch {
	case !ok:
		q.block(now, why)
	case !inBackground && q.waiters[background].Len() > 0:
		q.passed++
	}
	return slot, ok
}

// block records what the first waiter waits for. When that is a limit, waiters that cannot wait so
// long are refused immediately.
func (q *keyQueue) block(now time.Time, why quota.Wait) {
	begins := q.since.IsZero() && !why.Until.IsZero()
	if why.Until.IsZero() {
		q.limited, q.since = q.clock(now), time.Time{}
	} else if begins {
		q.since = now
	}
	q.why = why
	if begins || q.checked != q.budget.Changes() {
		q.checked = q.budget.Changes()
		q.refuse(now)
	}
}

// clock returns the total time in which the first place of the queue waited for limits. The
// difference between two readings is the time that counts against WithMaxWait.
func (q *keyQueue) clock(now time.Time) time.Duration {
	if q.since.IsZero() {
		return q.limited
	}
	return q.limited + now.Sub(q.since)
}

// dispatch gives as many permits to the first waiters as the budget allows.
func (q *keyQueue) dispatch(now time.Time) {
	for q.len() > 0 {
		w, asBackground := q.first(now)
		slot, ok := q.admit(now, asBackground)
		if !ok {
			break
		}
		if w.background {
			q.passed = 0
		}
		w.permit = &permit{queue: q, slot: slot}
		q.leave(w)
	}
	if q.len() == 0 {
		q.block(now, quota.Wait{})
	}
	q.arm(now)
}

// first returns the waiter that goes next, and whether it has to leave the reserve.
func (q *keyQueue) first(now time.Time) (w *waiter, asBackground bool) {
	front, behind := q.waiters[foreground].Front(), q.waiters[background].Front()
	if front == nil {
		return behind.Value.(*waiter), true
	}
	if behind != nil && q.passed >= agedShare-1 {
		if w := behind.Value.(*waiter); now.Sub(w.entered) >= agedAfter {
			return w, false
		}
	}
	return front.Value.(*waiter), false
}

// refuse refuses the waiters that cannot be served in time.
func (q *keyQueue) refuse(now time.Time) {
	before := 0
	for class := range q.waiters {
		for e := q.waiters[class].Front(); e != nil; {
			w := e.Value.(*waiter)
			e = e.Next()
			if at := q.earliest(now, w, before); w.late(now, at) {
				w.refused = q.refusal(now, at)
				q.leave(w)
				continue
			}
			before++
		}
	}
}

// earliest returns a time before which w cannot be admitted if that many waiters go before it.
func (q *keyQueue) earliest(now time.Time, w *waiter, before int) time.Time {
	return quota.Later(q.budget.Earliest(now, before, w.background), q.why.Until)
}

// leave removes w from the queue and wakes it.
func (q *keyQueue) leave(w *waiter) {
	q.waiters[w.class()].Remove(w.place)
	w.place = nil
	close(w.ready)
}

// withdraw ends the wait of w: it gives back the permit that w may have got, or removes w from the
// queue.
func (q *keyQueue) withdraw(w *waiter, now time.Time) {
	switch {
	case w.permit != nil && !w.permit.released:
		w.permit.released = true
		q.budget.GiveBack(w.permit.slot)
	case w.place != nil:
		q.leave(w)
	}
	q.dispatch(now)
}

// arm sets the timer to the time at which the first waiter may go, or stops it if only a response
// can decide that.
func (q *keyQueue) arm(now time.Time) {
	var at time.Time
	if q.len() > 0 && !q.why.Wake.IsZero() {
		at = now.Add(deadline.Slice(q.why.Wake.Sub(now)))
	}
	if at.Equal(q.wakeAt) || !at.IsZero() && !q.wakeAt.IsZero() && q.wakeAt.After(now) && q.wakeAt.Before(at) {
		return // the timer fires early enough, and wake sets it again
	}
	if q.timer != nil {
		q.timer.Stop() // if it has just fired, one more wake does no harm
		q.timer = nil
	}
	q.wakeAt = at
	if !at.IsZero() {
		q.timer = time.AfterFunc(at.Sub(now), q.wake)
	}
}

// wake is called by the timer.
func (q *keyQueue) wake() {
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	if now := time.Now(); !now.Before(q.wakeAt) {
		q.timer, q.wakeAt = nil, time.Time{}
		q.dispatch(now)
	}
}

// before returns the number of waiters that go before w.
func (q *keyQueue) before(w *waiter) int {
	_, before := q.place(w)
	if w.background {
		before += q.waiters[foreground].Len()
	}
	return before
}

// place returns where w belongs in its class by its ticket: the waiter after it, nil if there is
// none, and the number of waiters before it.
func (q *keyQueue) place(w *waiter) (*list.Element, int) {
	waiters := &q.waiters[w.class()]
	if back := waiters.Back(); back == nil || back.Value.(*waiter).ticket < w.ticket {
		return nil, waiters.Len()
	}
	// A call that is retried has one of the oldest tickets: its place is near the front.
	e, before := waiters.Front(), 0
	for ; e.Value.(*waiter).ticket < w.ticket; e = e.Next() {
		before++
	}
	return e, before
}

// push puts w into the queue.
func (q *keyQueue) push(w *waiter) {
	w.ready = make(chan struct{})
	waiters := &q.waiters[w.class()]
	if next, _ := q.place(w); next != nil {
		w.place = waiters.InsertBefore(w, next)
	} else {
		w.place = waiters.PushBack(w)
	}
	if w.background && waiters.Len() == 1 {
		q.passed = 0
	}
}
