package ratelimit

import (
	"net/http"
	"slices"
	"sort"
	"time"
)

// queue has the budget of one key and the requests that wait for it. It asks the budget to admit
// the first request, then the next one, until the budget refuses (dispatch). It asks again when a
// permit is released, and at the time that the budget named when it refused. The lock of the
// limiter guards it.
type queue struct {
	limiter  *Limiter
	budget   *budget
	tickets  []*ticket // requests that can be admitted, in the order in which they will be
	apart    int       // requests that wait but are not in tickets yet
	why      hold      // what the first ticket waits for; zero if there is none
	checked  time.Time // the budget's ends when tickets that come too late were last refused
	timer    *time.Timer
	alarm    time.Time // for which timer is set; zero without a timer
	reported Lockout   // what an observer was told last; zero once one was told of its end
}

// clock returns the time. If the clock was set back, as between two synctest bubbles, the queue
// forgets everything. After a small correction the time of the budget stands still instead: to
// forget everything would open a key that is closed.
func (q *queue) clock() time.Time {
	now := q.limiter.now()
	if q.budget.now.Sub(now) > time.Second {
		q.budget, q.reported = &budget{processes: q.limiter.processes}, Lockout{}
	}
	return now
}

// dispatch admits the first tickets, as many as the budget allows. It is called whenever one may be
// admitted: after a release, at the alarm, and when a request joins or leaves.
func (q *queue) dispatch(now time.Time) {
	for len(q.tickets) > 0 {
		t := q.tickets[0]
		if !q.admit(now, t) {
			break
		}
		q.remove(t)
		close(t.ready)
	}
	if len(q.tickets) == 0 {
		q.why = hold{}
	}
	if !q.why.wake.Equal(q.alarm) {
		q.setAlarm(now, q.why.wake)
	}
}

// admit asks the budget to admit a ticket, and reports whether it did. If it did not, admit records
// what to wait for. When that becomes a limit, or its end moves, tickets that cannot wait for so
// long are refused immediately. The end of a sliding window moves a little with each response: that
// is no news.
func (q *queue) admit(now time.Time, t *ticket) bool {
	slot, why := q.budget.admit(now, t.Background)
	if why.reason == "" {
		t.slot, t.budget, t.state = slot, q.budget, admitted
		return true
	}
	begins, ends := q.why.until.IsZero() && !why.until.IsZero(), q.budget.ends()
	if q.why = why; begins || ends.Sub(q.checked).Abs() > time.Second {
		q.checked = ends
		before := 0
		q.tickets = slices.DeleteFunc(q.tickets, func(t *ticket) bool {
			if t.isRefused(now, before, nil) {
				close(t.ready)
				return true
			}
			before++
			return false
		})
	}
	return false
}

// place returns the number of tickets that go before t: background requests come after all others,
// otherwise the request that asked first comes first.
func (q *queue) place(t *ticket) int {
	return sort.Search(len(q.tickets), func(i int) bool {
		other := q.tickets[i]
		if other.Background != t.Background {
			return other.Background
		}
		return other.Asked.After(t.Asked)
	})
}

// remove removes t from the tickets. There may be 100,000: when the first one leaves, as nearly
// always, the others are not moved.
func (q *queue) remove(t *ticket) {
	switch i := slices.Index(q.tickets, t); {
	case i == 0:
		q.tickets[0] = nil
		q.tickets = q.tickets[1:]
	case i > 0:
		q.tickets = slices.Delete(q.tickets, i, i+1)
	}
}

// nap returns for how long a wait of d sleeps before it looks at the wall clock again: timers stand
// still while the machine is suspended, and the wall clock can be set. It sleeps for a sixteenth of
// what is left, and at least 30 seconds: then a wait of a day looks at the clock about a hundred
// times, and ends late by little.
func nap(d time.Duration) time.Duration { return min(d, max(30*time.Second, d/16)) }

// setAlarm sets the timer that calls dispatch at a time, or earlier; the zero time stands for
// never.
func (q *queue) setAlarm(now, at time.Time) {
	if q.timer != nil {
		q.timer.Stop() // if it has just fired, one more call of dispatch does no harm
	}
	q.alarm, q.timer = at, nil
	if !at.IsZero() {
		q.timer = time.AfterFunc(nap(at.Sub(now)), func() {
			q.limiter.mu.Lock()
			defer q.limiter.mu.Unlock()
			now := q.clock()
			q.setAlarm(now, time.Time{})
			q.dispatch(now)
		})
	}
}

// lockout describes a lockout of the key. It has the numbers by which a user sees whether other
// processes have used up the limit.
func (q *queue) lockout(reason Reason, until time.Time) Lockout {
	b := q.budget
	return Lockout{Reason: reason, Until: until, Window: b.known(), Sent: b.own, Processes: b.processes}
}

// changes returns the lockouts whose beginning or end the outcome of a request shows, if an observer
// has to be told; nil for none.
func (q *queue) changes(admitted time.Time, o *Outcome, now time.Time) (closed, opened *Lockout) {
	b := q.budget
	switch {
	case o.Received.IsZero() || o.StatusCode == http.StatusUnauthorized:
		return nil, nil
	case o.StatusCode == http.StatusTooManyRequests:
		return q.close(now, q.lockout(b.reason, b.until)), nil
	case b.kind == ReasonDay && b.left() == 0:
		closed = q.close(now, q.lockout(b.kind, b.end))
	}
	if q.reported.Reason != "" && passed(admitted, q.reported.Until) {
		l := q.reported
		opened, q.reported = &l, Lockout{}
	}
	return closed, opened
}

// close records that the key is closed, and returns what has to be reported: a new lockout, or one
// that another limit has made longer, such as a ban after a minute that was used up.
func (q *queue) close(now time.Time, l Lockout) *Lockout {
	r := &q.reported
	switch {
	case passed(now, l.Until):
	case r.Reason == "", l.Reason != r.Reason && l.Until.After(r.Until):
		*r = l
		return &l
	case l.Reason == r.Reason:
		r.Until = later(r.Until, l.Until)
	}
	return nil
}
