// Package queue has the calls that wait for the budget of a key: which of them goes next, and which
// waited too long. A [Queue] stands in front of any [Budget]; a [Limiter] has one for each key, with
// the rules of package quota.
package queue

import (
	"container/list"
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
// value needs [Queue.Init].
type Queue[P any] struct {
	budget    Budget[P]
	start     Start
	least     func() time.Duration
	waiters   [2]list.List // of *Waiter[P]: a list for each class, ordered by ticket
	reporting [2][]uint64  // tickets of waiters that left the queue to report, in order
	arrived   int          // waiters so far
	passed    int          // foreground requests admitted since a background call got a permit or came

	limited time.Duration // total time before since in which the first waiter waited for a limit
	since   time.Time     // since when the first waiter waits for a limit; zero if it does not
}

// Init sets the budget, and what reports waits. Before it checks whether a call has waited too long,
// the queue leaves the budget at least the time that least returns; nil stands for none.
func (q *Queue[P]) Init(b Budget[P], start Start, least func() time.Duration) {
	q.budget, q.start, q.least = b, start, least
}

// Len returns the number of calls in the queue.
func (q *Queue[P]) Len() int { return q.waiters[foreground].Len() + q.waiters[background].Len() }

// Idle reports whether no call is in the queue or about to come back.
func (q *Queue[P]) Idle() bool {
	return q.Len()+len(q.reporting[foreground])+len(q.reporting[background]) == 0
}

// Arrived returns the number of calls that have entered the queue so far; [Waiter.Number] is that
// of one of them.
func (q *Queue[P]) Arrived() int { return q.arrived }

// Passes reports whether there is no waiter that goes before a new call.
func (q *Queue[P]) Passes(inBackground bool) bool {
	return q.waiters[foreground].Len() == 0 && (!inBackground || q.waiters[background].Len() == 0)
}

// Count records that a call got a permit; asBackground is whether it left the reserve to others.
func (q *Queue[P]) Count(asBackground bool) {
	if !asBackground && q.waiters[background].Len() > 0 {
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

// First returns the waiter that goes next, and whether it has to leave the reserve; nil if there is
// none.
func (q *Queue[P]) First(now time.Time) (w *Waiter[P], asBackground bool) {
	front, behind := q.waiters[foreground].Front(), q.waiters[background].Front()
	switch {
	case front == nil && behind == nil:
		return nil, false
	case front == nil:
		return behind.Value.(*Waiter[P]), true
	case behind != nil && q.passed >= agedShare-1:
		if w := behind.Value.(*Waiter[P]); now.Sub(w.entered) >= agedAfter {
			return w, false
		}
	}
	return front.Value.(*Waiter[P]), false
}

// Grant gives w its permit.
func (q *Queue[P]) Grant(w *Waiter[P], permit P) {
	if w.background {
		q.passed = 0
	}
	w.permit, w.granted = permit, true
	q.leave(w)
}

// Refuse ends the wait of w.
func (q *Queue[P]) Refuse(w *Waiter[P], r *Refusal) {
	w.refused = r
	q.leave(w)
}

// RefuseLate refuses the waiters that cannot be served in time.
func (q *Queue[P]) RefuseLate(now time.Time) {
	q.Each(func(w *Waiter[P], before int) {
		if at := q.Earliest(now, w, before+q.reportingBefore(w)); q.late(now, w, at) {
			q.Refuse(w, q.budget.Refusal(now, at))
		}
	})
}

// Each calls f for each waiter in order, with the number of waiters before it; f may end its wait.
func (q *Queue[P]) Each(f func(w *Waiter[P], before int)) {
	before := 0
	for class := range q.waiters {
		for e := q.waiters[class].Front(); e != nil; {
			w := e.Value.(*Waiter[P])
			e = e.Next()
			if f(w, before); w.place != nil {
				before++
			}
		}
	}
}

// Earliest returns a time before which w cannot get a permit if that many others go before it.
func (q *Queue[P]) Earliest(now time.Time, w *Waiter[P], before int) time.Time {
	return q.budget.Earliest(now, before, w.background)
}

// leave removes w from the queue and wakes it.
func (q *Queue[P]) leave(w *Waiter[P]) {
	if w.place != nil {
		q.waiters[w.class()].Remove(w.place)
		w.place = nil
	}
	w.wake()
}

// Before returns the number of waiters that go before w, with those that will come back from a
// report.
func (q *Queue[P]) Before(w *Waiter[P]) int {
	_, before := q.place(w)
	if w.background {
		before += q.waiters[foreground].Len()
	}
	return before + q.reportingBefore(w)
}

func (q *Queue[P]) reportingBefore(w *Waiter[P]) int {
	before, _ := slices.BinarySearch(q.reporting[w.class()], w.ticket)
	if w.background {
		before += len(q.reporting[foreground])
	}
	return before
}

// place returns where w belongs in its class by its ticket: the waiter after it, nil if there is
// none, and the number of waiters before it.
func (q *Queue[P]) place(w *Waiter[P]) (*list.Element, int) {
	waiters := &q.waiters[w.class()]
	if back := waiters.Back(); back == nil || back.Value.(*Waiter[P]).ticket < w.ticket {
		return nil, waiters.Len()
	}
	// A call that is retried has one of the oldest tickets: its place is near the front.
	e, before := waiters.Front(), 0
	for ; e.Value.(*Waiter[P]).ticket < w.ticket; e = e.Next() {
		before++
	}
	return e, before
}

// push puts w into the queue.
func (q *Queue[P]) push(w *Waiter[P]) {
	q.arrived++
	w.Number = q.arrived
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
