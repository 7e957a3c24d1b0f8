// Package queue has the calls that wait for the budget of a key: which of them goes next, and which
// waited too long. A [Queue] stands in front of any [Budget]; a [Limiter] has one for each key, with
// the rules of package quota.
package queue

import (
	"cmp"
	"slices"
	"sync"
	"time"

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

// Budget gives the permits of a [Queue]. The queue holds the lock when it calls the other methods.
type Budget[P any] interface {
	sync.Locker
	// Dispatch gives permits to the first waiters of the queue, as many as there are.
	Dispatch(now time.Time)
	// Earliest returns a time before which a call cannot get a permit if that many others go before
	// it. It returns now if no limit is known to prevent it.
	Earliest(now time.Time, before int, inBackground bool) time.Time
	// Refusal describes why a call cannot get a permit before at.
	Refusal(now, at time.Time) *Refusal
	// GiveBack takes back a permit that was not used.
	GiveBack(permit P, now time.Time)
}

// Refusal describes why a call gets no permit.
type Refusal struct {
	RetryAt   time.Time       // earliest time of the request; zero if a response decides
	RateLimit quota.RateLimit // as far as known
	Scope     quota.Scope     // the limit that refuses the request; empty if there is none
	Ended     bool            // the context of the call has ended
	Waited    bool            // it ended in the queue
	InFlight  int             // requests in flight then
}

// Queue has the calls that wait for permits of type P. The lock of its budget guards it. Its zero
// value needs Init.
type Queue[P any] struct {
	budget    Budget[P]
	least     func() time.Duration
	waiters   [2][]*Waiter[P] // a list for each class, in the order in which they asked, with those that report
	reporting [2]int          // number of waiters that report what they wait for, and will come back
	arrived   int             // waiters so far
	order     uint64          // of the latest waiter
	passed    int             // foreground requests admitted since a background call got a permit or came

	limited time.Duration // total time before since in which the first waiter waited for a limit
	since   time.Time     // since when the first waiter waits for a limit; zero if it does not

	alarm
}

// Init sets the budget. Before it checks whether a call has waited too long,
// the queue leaves the budget at least the time that least returns; nil stands for none.
func (q *Queue[P]) Init(b Budget[P], least func() time.Duration) {
	q.budget, q.least = b, least
}

// Len returns the number of calls in the queue.
func (q *Queue[P]) Len() int { return q.waiting(foreground) + q.waiting(background) }

func (q *Queue[P]) waiting(class int) int { return len(q.waiters[class]) - q.reporting[class] }

// Idle reports whether no call is in the queue or about to come back.
func (q *Queue[P]) Idle() bool { return len(q.waiters[foreground])+len(q.waiters[background]) == 0 }

// Arrived returns the number of calls that have entered the queue so far; [Waiter.Number] is that
// of one of them.
func (q *Queue[P]) Arrived() int { return q.arrived }

// Passes reports whether there is no waiter that goes before a new call.
func (q *Queue[P]) Passes(inBackground bool) bool {
	return q.waiting(foreground) == 0 && (!inBackground || q.waiting(background) == 0)
}

// Count records that a call got a permit; asBackground is whether it left the reserve to others.
func (q *Queue[P]) Count(asBackground bool) {
	if !asBackground && q.waiting(background) > 0 {
		q.passed++
	}
}

// Clock returns the total time in which the first place of the queue waited for limits. The
// difference between two readings is the time that counts against the longest wait of a call.
func (q *Queue[P]) Clock(now time.Time) time.Duration {
	if q.since.IsZero() {
		return q.limited
	}
	return q.limited + now.Sub(q.since)
}

// SetLimited starts or stops the clock: it runs while the first waiter waits for a limit, and not
// for a response. SetLimited reports whether the clock starts.
func (q *Queue[P]) SetLimited(now time.Time, limited bool) bool {
	switch {
	case !limited:
		q.limited, q.since = q.Clock(now), time.Time{}
	case q.since.IsZero():
		q.since = now
		return true
	}
	return false
}

// Serve gives permits to the waiters in order, until take has none. asBackground is whether the
// request has to leave the reserve.
func (q *Queue[P]) Serve(now time.Time, take func(asBackground bool) (P, bool)) {
	for {
		w, asBackground := q.first(now)
		if w == nil {
			return
		}
		permit, ok := take(asBackground)
		if !ok {
			return
		}
		if w.class == background {
			q.passed = 0
		}
		w.permit, w.granted = permit, true
		q.leave(w)
	}
}

// first returns the waiter that goes next, and whether it has to leave the reserve; nil if there is
// none.
func (q *Queue[P]) first(now time.Time) (w *Waiter[P], asBackground bool) {
	front, behind := q.front(foreground), q.front(background)
	switch {
	case front == nil:
		return behind, true
	case behind != nil && q.passed >= agedShare-1 && now.Sub(behind.entered) >= agedAfter:
		return behind, false
	}
	return front, false
}

// front returns the first waiter of a class that does not report; nil if there is none.
func (q *Queue[P]) front(class int) *Waiter[P] {
	for _, w := range q.waiters[class] {
		if !w.reporting {
			return w
		}
	}
	return nil
}

// Refuse ends the wait of w.
func (q *Queue[P]) Refuse(w *Waiter[P], r *Refusal) {
	w.refused = r
	q.leave(w)
}

// RefuseLate refuses the waiters that cannot be served in time.
func (q *Queue[P]) RefuseLate(now time.Time) {
	q.Each(func(w *Waiter[P], before int) {
		if r := q.late(now, w, before); r != nil {
			q.Refuse(w, r)
		}
	})
}

// Each calls f for each waiter in order, with the number of calls that go before it; f may end its
// wait.
func (q *Queue[P]) Each(f func(w *Waiter[P], before int)) {
	before := 0
	for class := range q.waiters {
		for i := 0; i < len(q.waiters[class]); {
			w := q.waiters[class][i]
			if !w.reporting {
				f(w, before)
			}
			if w.queued {
				i++
				before++
			}
		}
	}
}

// Before returns the number of waiters that go before w, with those that will come back from a
// report.
func (q *Queue[P]) Before(w *Waiter[P]) int {
	if w.class == background {
		return len(q.waiters[foreground]) + q.place(w)
	}
	return q.place(w)
}

// place returns where w belongs in its class by the time at which its call asked first.
func (q *Queue[P]) place(w *Waiter[P]) int {
	i, _ := slices.BinarySearchFunc(q.waiters[w.class], w, func(other, w *Waiter[P]) int {
		return cmp.Or(other.asked.Compare(w.asked), cmp.Compare(other.order, w.order))
	})
	return i
}

// insert puts w into the queue, and reports whether another waiter is behind it.
func (q *Queue[P]) insert(w *Waiter[P]) bool {
	i := q.place(w)
	q.waiters[w.class] = slices.Insert(q.waiters[w.class], i, w)
	w.queued = true
	return i+1 < len(q.waiters[w.class])
}

// report removes w from those that wait, or has it come back.
func (q *Queue[P]) report(w *Waiter[P], reporting bool) {
	if w.reporting == reporting {
		return
	}
	w.reporting = reporting
	if reporting {
		q.reporting[w.class]++
	} else {
		q.reporting[w.class]--
	}
}

// leave removes w from the queue and wakes it.
func (q *Queue[P]) leave(w *Waiter[P]) {
	if w.queued {
		q.report(w, false)
		i := slices.Index(q.waiters[w.class], w)
		q.waiters[w.class] = slices.Delete(q.waiters[w.class], i, i+1)
		w.queued = false
	}
	w.wake()
}

// alarm is when a Queue has its budget look for permits again, if nothing happens before.
type alarm struct {
	timer *time.Timer
	at    time.Time // when timer fires; zero without one
}

// SetAlarm has the budget dispatch permits at a time, or earlier; the zero time stands for never.
func (q *Queue[P]) SetAlarm(now, at time.Time) {
	a := &q.alarm
	if at.Equal(a.at) || !at.IsZero() && !a.at.IsZero() && a.at.After(now) && a.at.Before(at) {
		return // the timer fires early enough, and the budget sets it again
	}
	if a.timer != nil {
		a.timer.Stop() // if it has just fired, one more call does no harm
		a.timer = nil
	}
	a.at = at
	if !at.IsZero() {
		a.timer = time.AfterFunc(at.Sub(now), q.ring)
	}
}

// ring is called by the timer.
func (q *Queue[P]) ring() {
	q.budget.Lock()
	defer q.budget.Unlock()
	if now := time.Now(); !now.Before(q.alarm.at) {
		q.alarm = alarm{}
		q.budget.Dispatch(now)
	}
}
