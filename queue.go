package petstore

import (
	"container/list"
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

const (
	// agedAfter is after how long a background call counts as waiting too long: each window has begun once
	// by then.
	agedAfter = time.Minute
	// agedShare is the part of the requests that aged background calls get while others wait: one in ten, as
	// much as the reserve takes from them otherwise.
	agedShare = 10
)

// The classes of calls, in the order in which they go.
const (
	foreground = iota
	background
)

// keyQueue is the budget of one key and the calls that wait for it. The limiter's lock guards it.
type keyQueue struct {
	limiter *limiter
	id      string // the key's
	budget  quota.Budget
	waiters [2]list.List // of *waiter, by class and ticket
	passed  int          // foreground requests since a background call waits and has got none

	why     quota.Wait    // what the first waits for, zero if nobody does
	limited time.Duration // how long the first has waited for a limit, and not for a response, all told
	since   time.Time     // the same without interruption, zero while it does not
	checked int           // budget.Changes when the queue was last looked through
	timer   *time.Timer
	wakeAt  time.Time
}

func (q *keyQueue) len() int { return q.waiters[foreground].Len() + q.waiters[background].Len() }

// passes reports whether nobody waits who would go before a new call.
func (q *keyQueue) passes(inBackground bool) bool {
	return q.waiters[foreground].Len() == 0 && (!inBackground || q.waiters[background].Len() == 0)
}

// admit asks the budget for one request, and notes what it has to wait for.
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

// block notes what the first waits for. Who cannot wait for a limit is refused as soon as there is one.
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

// clock is how long the first has waited for limits, all told.
func (q *keyQueue) clock(now time.Time) time.Duration {
	if q.since.IsZero() {
		return q.limited
	}
	return q.limited + now.Sub(q.since)
}

// dispatch gives permits to the first waiters, as many as there are.
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
		w.permit = &permit{queue: q, slot: slot, own: w.own}
		q.leave(w)
	}
	if q.len() == 0 {
		q.block(now, quota.Wait{})
	}
	q.arm(now)
}

// first is who goes next, and whether it has to leave the reserve.
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

// refuse sends away who cannot be served in time any more.
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

// earliest is a time before which w cannot go if that many go before it.
func (q *keyQueue) earliest(now time.Time, w *waiter, before int) time.Time {
	return later(q.budget.Earliest(now, before, w.background), q.why.Until)
}

// leave takes w, which has its response, out of the queue.
func (q *keyQueue) leave(w *waiter) {
	q.waiters[w.class()].Remove(w.place)
	w.place = nil
	close(w.ready)
}

// withdraw takes back what w waited for.
func (q *keyQueue) withdraw(w *waiter, now time.Time) {
	switch {
	case w.permit != nil:
		w.permit.released = true
		q.budget.GiveBack(w.permit.slot)
	case w.place != nil:
		q.leave(w)
	}
	q.dispatch(now)
}

// arm has the queue looked at again when the first waits for a time, and not otherwise.
func (q *keyQueue) arm(now time.Time) {
	var at time.Time
	if q.len() > 0 && !q.why.Wake.IsZero() {
		at = now.Add(slice(q.why.Wake.Sub(now)))
	}
	if at.Equal(q.wakeAt) || !at.IsZero() && !q.wakeAt.IsZero() && q.wakeAt.After(now) && q.wakeAt.Before(at) {
		return // it looks early enough, and then again
	}
	if q.timer != nil {
		q.timer.Stop() // it may just have fired: looking once more does no harm
		q.timer = nil
	}
	q.wakeAt = at
	if !at.IsZero() {
		q.timer = time.AfterFunc(at.Sub(now), q.wake)
	}
}

// wake looks at the queue again when its time has come.
func (q *keyQueue) wake() {
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	if now := time.Now(); !now.Before(q.wakeAt) {
		q.timer, q.wakeAt = nil, time.Time{}
		q.dispatch(now)
	}
}

// before is how many go before w.
func (q *keyQueue) before(w *waiter) int {
	_, before := q.place(w)
	if w.background {
		before += q.waiters[foreground].Len()
	}
	return before
}

// place is who stands next behind w in its class, nil if nobody, and how many stand before it there.
func (q *keyQueue) place(w *waiter) (*list.Element, int) {
	waiters := &q.waiters[w.class()]
	if back := waiters.Back(); back == nil || back.Value.(*waiter).ticket < w.ticket {
		return nil, waiters.Len()
	}
	// A call that comes again is older than most: its place is near the front.
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
