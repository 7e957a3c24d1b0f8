package ratelimit

import (
	"context"
	"errors"
	"fmt"
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

// await waits until t is admitted or refused, and reports the wait. The lock must not be held. While
// an observer is told that the wait begins, t is not in the queue: the observer may make a request
// of its own, which would wait for the response to this one.
func (t *ticket) await(ctx context.Context, w Wait) {
	decided, done := false, false
	defer func() {
		if !done { // the observer has panicked: nobody will use the permit
			t.queue.limiter.mu.Lock()
			defer t.queue.limiter.mu.Unlock()
			t.leave(t.queue.clock())
		}
	}()
	if t.Observer != nil {
		defer func() { t.Observer.WaitDone(w); done = decided }()
		t.Observer.WaitStart(w)
	}
	for left := t.check(ctx, &w); left > 0; left = t.check(ctx, &w) {
		timer := time.NewTimer(nap(left))
		select {
		case <-t.ready:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	decided, done = true, t.Observer == nil
}

// check returns for how long t may sleep; 0 if its wait is over, which w then describes. Once
// NotBefore has passed, t joins the queue.
func (t *ticket) check(ctx context.Context, w *Wait) time.Duration {
	q := t.queue
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	now := q.clock()
	ended, early := contextError(ctx), t.NotBefore.Sub(now)
	if t.state == apart && ended == nil && early <= 0 {
		q.apart--
		if place := q.place(t); !t.isRefused(now, place, nil) {
			t.state = queued
			q.tickets = slices.Insert(q.tickets, place, t)
		}
	}
	q.dispatch(now) // a permit may become free at the moment at which the wait ends
	left := t.latest.Add(patience).Sub(now)
	switch waits := t.state <= queued; {
	case ended != nil || waits && left <= 0: // also if t was admitted at the same moment
		t.leave(now)
		limit, reason := q.budget.earliest(now, 0, t.Background)
		t.refuse(now, limit, reason, ended)
	case t.state == apart:
		return min(early, left)
	case waits:
		return left
	}
	w.Duration = now.Sub(t.entered)
	w.Window, w.Sent, w.Processes = q.budget.known(), q.budget.own, q.budget.processes
	return 0
}

// leave ends the wait of t, or gives back its permit. Then another request may take its place.
func (t *ticket) leave(now time.Time) {
	switch t.state {
	case apart:
		t.queue.apart--
	case queued:
		t.queue.remove(t)
	case admitted:
		t.budget.settle(t.slot, &Outcome{}, now)
	}
	t.state = over
	t.queue.dispatch(now)
}

// isRefused refuses t if its context has ended, or if a known limit or its NotBefore lasts longer than
// it can wait, with that many others before it. It reports whether it did. A wait for a response is
// no reason, because nobody knows how long it will take.
func (t *ticket) isRefused(now time.Time, before int, ended error) bool {
	limit, reason := t.queue.budget.earliest(now, before, t.Background)
	if at := later(limit, t.NotBefore); ended == nil && !at.After(later(now, t.latest)) {
		return false
	}
	t.refuse(now, limit, reason, ended)
	return true
}

// refuse refuses t because its context has ended or, if ended is nil, because its wait would be or
// was too long. If a limit is the reason, it is reported that the key is closed.
func (t *ticket) refuse(now, limit time.Time, reason Reason, ended error) {
	t.state = over
	t.refused = &Error{Window: t.queue.budget.known(), Reason: reason, Err: ended}
	switch {
	case reason != "":
		t.refused.RetryAt = later(limit, t.NotBefore)
		if ended == nil {
			t.closed = t.queue.close(now, t.queue.lockout(reason, limit))
		}
	case ended != nil:
		t.refused.Err = fmt.Errorf("before the request was sent: %w", ended)
	case t.NotBefore.After(now):
		t.refused.RetryAt = t.NotBefore
	}
}

// describe returns the wait that t begins.
func (t *ticket) describe(now time.Time) Wait {
	q := t.queue
	w := Wait{Reason: q.why.reason, Until: q.why.until, Waiting: len(q.tickets) + q.apart}
	switch b := q.budget; {
	case t.NotBefore.After(now) && !passed(now, b.until):
		w.Reason, w.Until = b.reason, later(b.until, t.NotBefore)
	case t.NotBefore.After(now):
		w.Reason, w.Until = ReasonBackoff, t.NotBefore
	case t.Background && w.Reason == ReasonMinute:
		w.Reason = ReasonBackground
	}
	return w
}

// contextError returns an error that matches the error and the cause of a context that has ended;
// nil if it has not ended.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
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
