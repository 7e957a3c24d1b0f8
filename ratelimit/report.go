package ratelimit

import (
	"net/http"
	"time"
)

// report reports to an observer that a lockout began or ended; nil if none did.
type report func(o Observer)

// to calls r with the observer, unless one of them is nil. The lock must not be held.
func (r report) to(o Observer) {
	if r != nil && o != nil {
		r(o)
	}
}

// reportOf returns the report of the lockout that began or ended with the outcome of a request.
func (q *queue) reportOf(admitted time.Time, o *Outcome, now time.Time) report {
	b, last := q.budget, q.reported
	switch {
	case o.Received.IsZero() || o.StatusCode == http.StatusUnauthorized:
	case o.StatusCode == http.StatusTooManyRequests:
		return q.reportClosed(now, b.closedBy, b.closedUntil)
	case b.kind == ReasonDay && b.left() == 0:
		return q.reportClosed(now, b.kind, b.end)
	case last.Reason != "" && !admitted.Before(last.Until):
		q.reported = Lockout{}
		return func(o Observer) { o.LimitOpened(last) }
	}
	return nil
}

// reportClosed has a twin in petstoreredis; TestPotNumbers compares them. It returns the report of
// a lockout. It returns nil if the lockout is over. It also returns nil if the last reported
// lockout still lasts, and ends no earlier or has the same limit. Reopen ends the last reported
// lockout.
func (q *queue) reportClosed(now time.Time, reason Reason, until time.Time) report {
	last := q.reported
	if !until.After(now) || !until.After(last.Until) {
		return nil
	}
	closed := q.lockout(reason, until)
	q.reported = closed
	if last.Reason == reason && last.Until.After(now) {
		return nil
	}
	return func(o Observer) { o.LimitClosed(closed) }
}

// lockout adds to the reason and the end of a lockout what is known about the key.
func (q *queue) lockout(reason Reason, until time.Time) Lockout {
	b := q.budget
	return Lockout{Reason: reason, Until: until, Window: b.known(), Sent: b.sent, Processes: b.processes}
}

// newWait returns the Wait that is reported when w begins to wait.
func (w *waiter) newWait(now time.Time) Wait {
	b, obstacle := w.queue.budget, w.queue.obstacle
	wait := Wait{Reason: obstacle.reason, Waiting: w.queue.waiting}
	if obstacle.reason != ReasonResponse {
		wait.Until = obstacle.askAt
	}
	switch {
	case w.NotBefore.After(now) && b.closedUntil.After(now):
		wait.Reason, wait.Until = b.closedBy, later(b.closedUntil, w.NotBefore)
	case w.NotBefore.After(now):
		wait.Reason, wait.Until = ReasonBackoff, w.NotBefore
	case w.Background && wait.Reason == ReasonMinute:
		wait.Reason = ReasonBackground
	}
	return wait
}
